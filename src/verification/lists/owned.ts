/**
 * Domains of companies that nearly every person exchanges mail with: tenants, sandboxes and relay addresses of their
 * customers are below some of them. Lists of disposable domains name single ones of these now and then; no operator
 * promotes them, or the whole, on a stranger's word.
 */
export const COMPANY_DOMAINS: ReadonlySet<string> = new Set([
  // Microsoft 365 gives every tenant a name below onmicrosoft.com, Amazon WorkMail one below awsapps.com.
  ...["microsoft.com", "onmicrosoft.com", "microsoftonline.com", "office.com", "office365.com", "azure.com"],
  ...["amazon.com", "amazon.de", "amazon.co.uk", "amazon.fr", "amazon.co.jp", "amazonaws.com", "awsapps.com"],
  ...["apple.com", "googlegroups.com", "gserviceaccount.com", "googleusercontent.com", "youtube.com"],
  // Services that send for others.
  ...["amazonses.com", "sendgrid.com", "sendgrid.net", "mailgun.com", "mailgun.net", "mailgun.org"],
  ...[
    "sparkpost.com",
    "sparkpostmail.com",
    "mandrillapp.com",
    "mailchimp.com",
    "mailchimpapp.net",
    "mcsv.net",
  ],
  ...["postmarkapp.com", "mtasv.net", "mailjet.com", "brevo.com", "sendinblue.com", "mailersend.net"],
  ...["salesforce.com", "force.com", "exacttarget.com", "hubspot.com", "hubspotemail.net", "klaviyo.com"],
  // Services whose customers, users and guests have addresses there.
  ...["zendesk.com", "freshdesk.com", "intercom.io", "intercom-mail.com", "atlassian.net", "slack.com"],
  ...["github.com", "gitlab.com", "linkedin.com", "facebook.com", "facebookmail.com", "twitter.com", "x.com"],
  ...["paypal.com", "ebay.com", "ebay.de", "ebay.co.uk", "booking.com", "airbnb.com", "shopify.com"],
  ...["cloudflare.com", "godaddy.com", "squarespace.com", "wix.com", "craigslist.org"],
]);

/** Schools, authorities and the military have suffixes of their own, by country or for the United States. */
const INSTITUTION_SUFFIX =
  /^(edu|gov|mil|int)$|^(edu|gov|mil|ac|gob|gouv|govt)\.[a-z]{2}$|^(gv\.at|gc\.ca|go\.(jp|kr|th|id|ke|tz|ug|cr))$/;

/** @param publicSuffix of a domain, as the Public Suffix List has it */
export function isInstitutional(publicSuffix: string | null): boolean {
  return publicSuffix !== null && INSTITUTION_SUFFIX.test(publicSuffix);
}
