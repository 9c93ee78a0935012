// What a program in Go does with a generated client; prints what it got as JSON.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"example.com/call/api"
)

func clientOf(key string) *api.ClientWithResponses {
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("RCPT_URL"), api.WithRequestEditorFn(bearer))
	must(err)
	return client
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// found is what an answer holds where it is the expected one.
func found[T any](body *T, err error, raw []byte) T {
	must(err)
	if body == nil {
		must(fmt.Errorf("another answer was expected than %s", raw))
	}
	return *body
}

func main() {
	ctx := context.Background()
	client := clientOf(os.Getenv("RCPT_API_KEY"))

	verified, err := client.VerifyAddressWithResponse(ctx, &api.VerifyAddressParams{Email: "valid@example.com", Evidence: ptr(true)})
	must(err)
	result := found(verified.JSON200, err, verified.Body)

	var source string
	for _, emails := range [][]string{{"valid@example.com", "no-address"}, {"unknown@example.com"}} {
		once := &api.SubmitBulkParams{IdempotencyKey: ptr(rand.Text())}
		submitted, err := client.SubmitBulkWithResponse(ctx, once, api.SubmitBulkRequest{Emails: &emails})
		must(err)
		source, err = found(submitted.JSON202, err, submitted.Body).Source.Discriminator()
		must(err)
	}

	var jobs []api.BulkJob
	var cursor *string
	for len(jobs) < 2 {
		listed, err := client.ListBulkJobsWithResponse(ctx, &api.ListBulkJobsParams{Limit: ptr(1), Cursor: cursor})
		must(err)
		page := found(listed.JSON200, err, listed.Body)
		jobs = append(jobs, page.Data...)
		cursor = page.NextCursor
		if cursor == nil {
			break
		}
	}

	read, err := client.GetUsageHistoryWithResponse(ctx, &api.GetUsageHistoryParams{Days: ptr(7)})
	must(err)
	history := found(read.JSON200, err, read.Body)

	refused, err := clientOf("rcpt_live_unknown").GetUsageWithResponse(ctx)
	must(err)
	problem := found(refused.ApplicationproblemJSON401, err, refused.Body)

	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"verdict":    result.Verdict,
		"takes_mail": result.Checks.Mx.Ok,
		"source":     source,
		"jobs":       len(jobs),
		"days":       history.Days,
		"code":       problem.Code,
	}))
}

func ptr[T any](value T) *T { return &value }
