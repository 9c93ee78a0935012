import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EMAIL_WORDS } from "../../../../../src/features/bulk/columns/email-words.ts";
import {
  type HeaderMeaning,
  headerMeaning,
} from "../../../../../src/features/bulk/columns/header-meaning.ts";

const meaningOf = (name: string) => headerMeaning(Buffer.from(name).toString("latin1"));

const NAMES: Readonly<Record<HeaderMeaning, string>> = {
  primary: "Primary Email|primary_email|Email (primary)|Haupt-E-Mail|Email principal|Основная почта",
  email:
    "Email|EMAIL|eMail|E-Mail|e_mail|mail|Email Address|Email (required)|*Email|Email *|#email|Email_Address__c|properties.email|" +
    "emailAddress|E-mail 1 - Value|E-mail Address|Email ID|Gmail|Mailadresse|E-Mail-Adresse|E-mailadres|E-postadress|" +
    "Adresse électronique|Courriel|Adresse e-mail|Correo|Correo electrónico|Correu electrònic|Posta elettronica|E-mail cím|" +
    "Poczta elektroniczna|Adres e-mail|E-posta|El. paštas|E-pasts|Sähköpostiosoite|Netfang|Ríomhphost|Cyfeiriad e-bost|E-poçt|" +
    "Elektronická pošta|Ηλεκτρονικό ταχυδρομείο|Электронная почта|Эл. почта|Адрес электронной почты|Имейл|Е-пошта|Імейл|ელფოსტა|" +
    "էլ․ փոստ|メールアドレス|メールアドレス（必須）|Eメール|电子邮箱地址|邮箱|電子郵件|이메일 주소|อีเมล|ईमेल पता|البريد الإلكتروني|דוא״ל|" +
    'דוא"ל|כתובת דואר אלקטרוני|ایمیل|Địa chỉ email|Alamat surel|barua pepe',
  contact:
    "Contact Email|Contact: Email|Kontakt E-Mail|Adresse mail du client|Guest email|Kunden-Mail|kundenemail|Invitee Email|" +
    "customer_email|Email address of attendee|contact.email|Requester email|Почта клиента|お客様メールアドレス",
  qualified:
    "Business Email|Work Email|Person - Email - Work|Email Address (Work)|E-Mail (privat)|Billing Email|userEmail|WorkEmail__c|" +
    "npe01__HomeEmail__c|Agency Email|E-mailadres contactpersoon|E-Mail Ansprechpartner",
  secondary:
    "E-mail 2 - Value|E-mail 2 Address|Email2|Secondary Email|Additional email addresses|Autre e-mail|备用邮箱",
  attribute:
    "Email Opt Out|email opt in|emailOptIn|Email Status|email_sent_at|Email Count|E-mail 1 - Label|E-mail Type|E-mail Display Name|" +
    "Email Domain|Emails Opened|Marketing emails bounced|E-Mail-Status|メール配信可否|邮箱状态|Last email date|Email Valid",
  owner:
    "Owner|Created By|Owner.Email|hubspot_owner|Betreuer|Commercial|Organizer Email|Account Owner|Säljare|Person - Owner|CSM|" +
    "Correo del asesor|Owner: Email|Rep|Sales Rep|负责人|担当者メールアドレス|담당자 이메일|Ответственный|Почта менеджера|From|Reply-To|" +
    "ownerEmail|accountowner|Last Modified By|Assigned To|Email handlowca|Adres e-mail opiekuna|Referred by|CC|AccountManagerEmail|" +
    "E-mail du commercial|Vlastník|Ejer|Myyjä|Tulajdonos|Temsilci|Υπεύθυνος|Người phụ trách|المسؤول|מנהל תיק|ผู้รับผิดชอบ",
  none: "Name|id|Phone|Mailing City|Voicemail|last, first|email;name|email^name|a@example.com|To|Customer||123|Mailbox size",
};

describe("what a column's name says", () => {
  for (const [meaning, names] of Object.entries(NAMES))
    for (const name of names.split("|"))
      it(`${name || "nothing"}: ${meaning}`, () => assert.equal(meaningOf(name), meaning));

  it("is known in forty languages and more", () => {
    assert.ok(Object.keys(EMAIL_WORDS).length >= 40);
    for (const [language, words] of Object.entries(EMAIL_WORDS))
      for (const word of words.replace("inText:", "").split(",")) {
        const name = word.trim().replaceAll("*", "");
        assert.notEqual(meaningOf(name), "none", `${language}: ${name}`);
        assert.notEqual(meaningOf(name), "owner", `${language}: ${name}`);
      }
  });

  it("is read of names in windows-1252 too", () => {
    assert.equal(headerMeaning("Adresse \xe9lectronique"), "email");
    assert.equal(headerMeaning("S\xe4ljare"), "owner");
  });
});
