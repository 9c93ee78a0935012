import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SampledTable } from "../../../../../src/features/bulk/columns/choose-column.ts";
import {
  blank,
  type Cells,
  choose,
  chosen,
  contact,
  home,
  mostly,
  name,
  owner,
  sparse,
} from "../../../../support/column-tables.ts";

const EXPORTS: readonly [name: string, columns: [string, Cells][], rows: number, expected: string][] = [
  [
    "Google Contacts",
    [
      ["E-mail 1 - Label", () => "* Work"],
      ["E-mail 1 - Value", contact],
      ["E-mail 2 - Value", sparse(home, 3)],
    ],
    300,
    "E-mail 1 - Value",
  ],
  [
    "Outlook",
    [
      ["E-mail Address", contact],
      ["E-mail Type", () => "SMTP"],
      ["E-mail Display Name", (row) => `A (${contact(row)})`],
      ["E-mail 2 Address", home],
    ],
    300,
    "E-mail Address",
  ],
  [
    "HubSpot",
    [
      ["Email", contact],
      ["Contact owner", (row) => `Sam (${owner(row)})`],
      ["Work email", sparse(home, 4)],
      ["Email Domain", () => "example.com"],
    ],
    300,
    "Email",
  ],
  [
    "Salesforce",
    [
      ["Owner: Email", owner],
      ["Contact: Email", contact],
      ["Email Opt Out", () => "0"],
    ],
    300,
    "Contact: Email",
  ],
  [
    "Pipedrive",
    [
      ["Person - Email - Work", contact],
      ["Person - Email - Home", sparse(home, 25)],
      ["Person - Email - Other", blank],
      ["Person - Owner", owner],
    ],
    300,
    "Person - Email - Work",
  ],
  [
    "Mailchimp",
    [
      ["Email Address", contact],
      ["OPTIN_TIME", () => "2024"],
    ],
    300,
    "Email Address",
  ],
  [
    "Zoho",
    [
      ["Contact Owner", owner],
      ["Email", contact],
      ["Secondary Email", home],
      ["Email Opt Out", () => "false"],
      ["Created By", owner],
    ],
    300,
    "Email",
  ],
  [
    "Shopify",
    [
      ["Email", contact],
      ["Billing Email", home],
    ],
    300,
    "Email",
  ],
  [
    "Eventbrite",
    [
      ["Buyer Email", sparse(home, 1)],
      ["Email", contact],
    ],
    300,
    "Email",
  ],
  [
    "Calendly",
    [
      ["User Email", owner],
      ["Invitee Email", contact],
    ],
    300,
    "Invitee Email",
  ],
  [
    "Zendesk",
    [
      ["Assignee email", owner],
      ["Requester email", contact],
    ],
    300,
    "Requester email",
  ],
  [
    "Dutch, with a contact person",
    [
      ["E-mailadres", (row) => (row === 0 ? contact(0) : "")],
      ["E-mailadres contactpersoon", home],
    ],
    3,
    "E-mailadres",
  ],
  [
    "orders, in which customers repeat",
    [
      ["Email", (row) => contact(row % 120)],
      ["Order", name],
    ],
    300,
    "Email",
  ],
  [
    "orders of three customers, and nothing else",
    [
      ["Email", owner],
      ["Order", name],
    ],
    300,
    "Email",
  ],
  ["one column of repeats", [["", owner]], 300, ""],
  [
    "a login that is the address",
    [
      ["Login", contact],
      ["Email", contact],
    ],
    300,
    "Email",
  ],
  [
    "the same column twice",
    [
      ["Email", contact],
      ["Email", contact],
    ],
    300,
    "Email",
  ],
  [
    "a flag that is called email",
    [
      ["email", () => "yes"],
      ["contact", contact],
    ],
    300,
    "contact",
  ],
  [
    "a first column of the same name that is empty",
    [
      ["email", blank],
      ["Name", name],
      ["Email", contact],
    ],
    300,
    "Email",
  ],
  [
    "an owner's column alone",
    [
      ["Name", name],
      ["Owner Email", contact],
    ],
    300,
    "Owner Email",
  ],
  [
    "several addresses in a cell",
    [
      ["Emails", (row) => `${contact(row)}; ${home(row)}`],
      ["Owner", owner],
    ],
    2,
    "Emails",
  ],
];

describe("the primary address of an export", () => {
  for (const [title, columns, rows, expected] of EXPORTS)
    it(title, () => assert.equal(chosen(columns, rows), expected));
});

const AMBIGUOUS: readonly [
  name: string,
  columns: [string, Cells][],
  rows?: number,
  table?: Partial<SampledTable>,
][] = [
  [
    "Email twice",
    [
      ["Email", (row) => (row === 0 ? contact(0) : "")],
      ["Name", name],
      ["Email", home],
    ],
    2,
  ],
  [
    "Email twice, the second hardly filled",
    [
      ["Email", contact],
      ["Email", sparse(home, 30)],
    ],
  ],
  [
    "home and work",
    [
      ["Home Email", contact],
      ["Work Email", home],
    ],
  ],
  [
    "two columns without a header",
    [
      ["", contact],
      ["", home],
    ],
    300,
    { header: null },
  ],
  [
    "the customer's and one that may be anybody's",
    [
      ["Email", contact],
      ["Customer Email", home],
    ],
  ],
  [
    "a name and a content that contradict each other",
    [
      ["Email", owner],
      ["Owner Email", contact],
    ],
  ],
  [
    "an owner's column alone, of three owners",
    [
      ["Name", name],
      ["Owner", owner],
    ],
  ],
  [
    "a column that says nothing, of three addresses",
    [
      ["Name", name],
      ["Plugh", owner],
    ],
  ],
  [
    "an empty column of the name, and one that says nothing",
    [
      ["Email", blank],
      ["Plugh", contact],
    ],
  ],
  [
    "the same, in the first rows",
    [
      ["Email", blank],
      ["Plugh", contact],
    ],
    300,
    { whole: false },
  ],
];

describe("an ambiguous column", () => {
  for (const [title, columns, rows, table] of AMBIGUOUS)
    it(title, () => {
      assert.equal(chosen(columns, rows, table), "ambiguous");
      assert.equal(chosen([...columns].reverse(), rows, table), "ambiguous");
    });

  it("is reported with candidates, the likeliest first", () => {
    const { candidates } = choose([
      ["Home Email", contact],
      ["Owner", owner],
      ["Work Email", mostly(home, 10)],
    ]);
    assert.deepEqual(
      candidates.map(({ index, addresses, distinct }) => [index, addresses, distinct]),
      [
        [0, 300, 300],
        [2, 270, 270],
        [1, 300, 3],
      ],
    );
    for (const { score, parts } of candidates) {
      const sum = Object.values(parts).reduce((total, part) => total + part, 0);
      assert.ok(Math.abs(sum - score) < 0.2);
    }
  });
});
