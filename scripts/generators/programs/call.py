"""What a program in Python does with a generated client; prints what it got as JSON."""

import json
import os
import uuid

from rcpt_client import AuthenticatedClient
from rcpt_client.api.bulk import list_bulk_jobs, submit_bulk
from rcpt_client.api.usage import get_usage, get_usage_history
from rcpt_client.api.verification import verify_address
from rcpt_client.models import BulkJob, BulkJobPage, Problem, SubmitBulkRequest, UsageHistory, VerificationResult
from rcpt_client.types import UNSET


def client_of(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["RCPT_URL"], token=key)


client = client_of(os.environ["RCPT_API_KEY"])
result = verify_address.sync(client=client, email="valid@example.com", evidence=True)
assert isinstance(result, VerificationResult), result
for emails in (["valid@example.com", "no-address"], ["unknown@example.com"]):
    body = SubmitBulkRequest(emails=emails)
    job = submit_bulk.sync(client=client, body=body, idempotency_key=str(uuid.uuid4()))
    assert isinstance(job, BulkJob), job
    source = job.source.type_
jobs: list[BulkJob] = []
cursor: str | None = None
while len(jobs) < 2:
    page = list_bulk_jobs.sync(client=client, limit=1, cursor=cursor or UNSET)
    assert isinstance(page, BulkJobPage), page
    jobs += page.data
    cursor = page.next_cursor
    if cursor is None:
        break
history = get_usage_history.sync(client=client, days=7)
assert isinstance(history, UsageHistory), history
refused = get_usage.sync(client=client_of("rcpt_live_unknown"))
assert isinstance(refused, Problem), refused
print(
    json.dumps(
        {
            "verdict": result.verdict,
            "takes_mail": result.checks.mx.ok,
            "source": source,
            "jobs": len(jobs),
            "days": history.days,
            "code": refused.code,
        }
    )
)
