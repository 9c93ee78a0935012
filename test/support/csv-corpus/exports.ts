import type { SourceOptions } from "../../../src/features/bulk/analysis/layout.ts";

/** A list as customers upload them, and how it should be read. Values are written as text and compared as UTF-8. */
export interface CorpusList {
  name: string;
  bytes: Buffer;
  options?: SourceOptions;
  delimiter: string;
  emailColumn: number;
  header: string[] | null;
  bom?: boolean;
  rows: string[][];
}

const utf8 = (text: string): Buffer => Buffer.from(text);
const binary = (text: string): Buffer => Buffer.from(text, "latin1");
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");

/** Exports of common programs, in their own dialects. */
export const EXPORTS: readonly CorpusList[] = [
  {
    name: "Excel, CSV (Comma delimited)",
    bytes: utf8(
      'Name,Email,Joined,Balance\r\n"Doe, Jane",jane@example.com,1/2/2024,"1,200.50"\r\nBob,bob@example.com,,-5\r\n',
    ),
    delimiter: ",",
    emailColumn: 1,
    header: ["Name", "Email", "Joined", "Balance"],
    rows: [
      ["Doe, Jane", "jane@example.com", "1/2/2024", "1,200.50"],
      ["Bob", "bob@example.com", "", "-5"],
    ],
  },
  {
    name: "Excel, CSV UTF-8, with semicolons",
    bytes: utf8(
      "\ufeffVorname;Straße;E-Mail-Adresse;Umsatz\r\nJörg;Hauptstr. 1, Köln;joerg@example.de;1.200,50\r\nÄnne;;aenne@example.de;0,5\r\n",
    ),
    delimiter: ";",
    emailColumn: 2,
    header: ["Vorname", "Straße", "E-Mail-Adresse", "Umsatz"],
    bom: true,
    rows: [
      ["Jörg", "Hauptstr. 1, Köln", "joerg@example.de", "1.200,50"],
      ["Änne", "", "aenne@example.de", "0,5"],
    ],
  },
  {
    name: "Excel, with a sep= line",
    bytes: utf8("sep=;\r\nid;mail\r\n1;a@example.com\r\n2;b@example.com\r\n"),
    delimiter: ";",
    emailColumn: 1,
    header: ["id", "mail"],
    rows: [
      ["1", "a@example.com"],
      ["2", "b@example.com"],
    ],
  },
  {
    name: "a byte order mark, a quoted sep= line of an odd delimiter, no header",
    bytes: utf8('\ufeff"sep=^"\n1^a@example.com\n2^b@example.com\n'),
    delimiter: "^",
    emailColumn: 1,
    header: null,
    bom: true,
    rows: [
      ["1", "a@example.com"],
      ["2", "b@example.com"],
    ],
  },
  {
    name: "Excel, Unicode Text",
    bytes: utf16('\ufeffИмя\tПочта\tNote\r\nАнна\tanna@example.ru\t"tab\there"\r\n王\twang@example.cn\t\r\n'),
    delimiter: "\t",
    emailColumn: 1,
    header: ["Имя", "Почта", "Note"],
    bom: true,
    rows: [
      ["Анна", "anna@example.ru", "tab\there"],
      ["王", "wang@example.cn", ""],
    ],
  },
  {
    name: "LibreOffice, all text quoted, LF",
    bytes: utf8(
      '"First Name","E-Mail","Notes"\n"Ann","ann@example.com","line one\nline two"\n"Ben","ben@example.com","said ""no"""\n',
    ),
    delimiter: ",",
    emailColumn: 1,
    header: ["First Name", "E-Mail", "Notes"],
    rows: [
      ["Ann", "ann@example.com", "line one\nline two"],
      ["Ben", "ben@example.com", 'said "no"'],
    ],
  },
  {
    name: "Google Sheets, no final line end",
    bytes: utf8(
      "Timestamp,Email Address,Your answer\r\n2024/01/02 3:04:05 PM GMT+1,p@example.com,Yes\r\n2024/01/03 3:04:05 PM GMT+1,q@example.com,",
    ),
    delimiter: ",",
    emailColumn: 1,
    header: ["Timestamp", "Email Address", "Your answer"],
    rows: [
      ["2024/01/02 3:04:05 PM GMT+1", "p@example.com", "Yes"],
      ["2024/01/03 3:04:05 PM GMT+1", "q@example.com", ""],
    ],
  },
  {
    name: "Numbers, a title above nothing and semicolons",
    bytes: utf8("Table 1;\nemail;name\nn@example.com;Nora\nm@example.com;Max\n"),
    options: { hasHeader: false },
    delimiter: ";",
    emailColumn: 0,
    header: null,
    rows: [
      ["Table 1", ""],
      ["email", "name"],
      ["n@example.com", "Nora"],
      ["m@example.com", "Max"],
    ],
  },
  {
    name: "old Macs, CR and MacRoman",
    bytes: binary("nom,courriel\rFran\x8dois,francois@example.fr\rZo\x91,zoe@example.fr\r"),
    delimiter: ",",
    emailColumn: 1,
    header: ["nom", "courriel"],
    rows: [
      ["Fran\x8dois", "francois@example.fr"],
      ["Zo‘", "zoe@example.fr"],
    ],
  },
  {
    name: "Outlook contacts",
    bytes: utf8(
      '"First Name","Last Name","Company","E-mail Address","E-mail Type","E-mail Display Name","E-mail 2 Address"\r\n' +
        '"Ada","L","Engines","ada@example.com","SMTP","Ada L (ada@example.com)",""\r\n' +
        '"Bo","M","","","","",""\r\n"Cy","N","","cy@example.com","SMTP","Cy N (cy@example.com)","cy2@example.com"\r\n',
    ),
    delimiter: ",",
    emailColumn: 3,
    header: [
      "First Name",
      "Last Name",
      "Company",
      "E-mail Address",
      "E-mail Type",
      "E-mail Display Name",
      "E-mail 2 Address",
    ],
    rows: [
      ["Ada", "L", "Engines", "ada@example.com", "SMTP", "Ada L (ada@example.com)", ""],
      ["Bo", "M", "", "", "", "", ""],
      ["Cy", "N", "", "cy@example.com", "SMTP", "Cy N (cy@example.com)", "cy2@example.com"],
    ],
  },
  {
    name: "Google contacts",
    bytes: utf8(
      "First Name,Last Name,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Value\n" +
        "Ada,L,* Work,ada@example.com,+49 170 1\nBo,M,,,\nCy,N,Home,cy@example.com ::: cy2@example.com,\n",
    ),
    delimiter: ",",
    emailColumn: 3,
    header: ["First Name", "Last Name", "E-mail 1 - Label", "E-mail 1 - Value", "Phone 1 - Value"],
    rows: [
      ["Ada", "L", "* Work", "ada@example.com", "+49 170 1"],
      ["Bo", "M", "", "", ""],
      ["Cy", "N", "Home", "cy@example.com ::: cy2@example.com", ""],
    ],
  },
  {
    name: "Mailchimp audience",
    bytes: utf8(
      '"Email Address","First Name",MEMBER_RATING,OPTIN_TIME,TAGS\n' +
        'x@example.com,Xi,2,"2021-01-01 10:00:00","""vip"",""eu"""\ny@example.com,,2,"2021-01-02 10:00:00",\n',
    ),
    delimiter: ",",
    emailColumn: 0,
    header: ["Email Address", "First Name", "MEMBER_RATING", "OPTIN_TIME", "TAGS"],
    rows: [
      ["x@example.com", "Xi", "2", "2021-01-01 10:00:00", '"vip","eu"'],
      ["y@example.com", "", "2", "2021-01-02 10:00:00", ""],
    ],
  },
  {
    name: "HubSpot contacts",
    bytes: utf8(
      '"Record ID","First Name","Email","Email Domain","Contact owner"\n' +
        '"1","Ida","ida@example.com","example.com","Sam Sales (sam@corp.example)"\n' +
        '"2","Jo","jo@example.org","example.org","Sam Sales (sam@corp.example)"\n',
    ),
    delimiter: ",",
    emailColumn: 2,
    header: ["Record ID", "First Name", "Email", "Email Domain", "Contact owner"],
    rows: [
      ["1", "Ida", "ida@example.com", "example.com", "Sam Sales (sam@corp.example)"],
      ["2", "Jo", "jo@example.org", "example.org", "Sam Sales (sam@corp.example)"],
    ],
  },
  {
    name: "a Salesforce report, with a footer",
    bytes: binary(
      '"Salutation","Last Name","Email","Created By"\r\n"Mr.","M\xfcller","mueller@example.com","a@corp.example"\r\n' +
        '"","Ng","ng@example.com","a@corp.example"\r\n\r\n\r\n"Contacts Report"\r\n"Confidential Information - Do Not Distribute"\r\n',
    ),
    delimiter: ",",
    emailColumn: 2,
    header: ["Salutation", "Last Name", "Email", "Created By"],
    rows: [
      ["Mr.", "Müller", "mueller@example.com", "a@corp.example"],
      ["", "Ng", "ng@example.com", "a@corp.example"],
      ["Contacts Report"],
      ["Confidential Information - Do Not Distribute"],
    ],
  },
  {
    name: "a database dump with pipes and no header",
    bytes: utf8("7|u7@example.com|2024-01-01 00:00:00|t\n8|u8@example.com||f\n"),
    delimiter: "|",
    emailColumn: 1,
    header: null,
    rows: [
      ["7", "u7@example.com", "2024-01-01 00:00:00", "t"],
      ["8", "u8@example.com", "", "f"],
    ],
  },
];
