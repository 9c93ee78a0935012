/**
 * Role names that the npm list lacks: the rest of RFC 2142, and those that companies outside the English-speaking world put
 * on their imprint pages, by language. Only words that are neither a name nor a nickname: a role makes an accepted address
 * `risky`.
 */
const BY_LANGUAGE: Readonly<Record<string, string>> = {
  en: "customer-service bounce bounces gdpr dpo board whistleblower",
  de:
    "vertrieb rechnung rechnungen bewerbung bewerbungen empfang verwaltung datenschutz einkauf redaktion praxis kanzlei " +
    "kundenservice kundendienst geschaeftsfuehrung geschaeftsleitung personalabteilung sekretariat versand bestellungen",
  fr: "accueil secretariat mairie facturation service-client serviceclients renseignements",
  it: "contatti vendite segreteria ufficio assistenzaclienti supporto fatture acquisti prenotazioni",
  es: "ayuda atencion empleo pedidos facturas",
  pt: "ajuda ouvidoria recursos-humanos",
  nl: "klantenservice verkoop receptie factuur facturen boekhouding inkoop personeelszaken",
  pl: "sprzedaz kadry ksiegowosc zamowienia sklep rekrutacja",
  cs: "kontakty obchod podpora prodej fakturace objednavky ucetni",
  sv: "kundservice kundtjanst faktura ekonomi forsaljning",
  da: "salg bogholderi regnskab",
  no: "regnskap kundesenter",
  fi: "asiakaspalvelu myynti laskutus toimisto",
  hu: "ugyfelszolgalat penzugy ertekesites",
  ro: "vanzari facturare suport",
  tr: "iletisim destek bilgi muhasebe satis siparis",
  ru: "sklad buhgalteria otdelkadrov priemnaya",
};

export const OWN_ROLES: readonly string[] = Object.values(BY_LANGUAGE).flatMap((words) => words.split(" "));

/** RFC 2142 §6: the owner of a mailing list; and where its bounces go. */
const LIST_OWNER = /^(?:owner-[a-z0-9._-]{2,}|[a-z0-9._-]{2,}-(?:request|bounces|unsubscribe))$/;

/** A word shorter than this may be a person's initials with dots between them: `i.t`, `m.d`. */
const JOINED_MIN = 6;

/**
 * The role that a local part represents, of those that `isRole` knows. Case, `+tag` and the division of a longer word are
 * ignored: `no.reply`, `no_reply`, `help-desk`. null for a person's.
 */
export function roleOf(local: string, isRole: (name: string) => boolean): string | null {
  const lower = local.toLowerCase();
  const tag = lower.indexOf("+");
  const name = tag < 0 ? lower : lower.slice(0, tag);
  if (name === "") return null;
  if (isRole(name) || (name.includes("-") && LIST_OWNER.test(name))) return name;
  if (!/[._-]/.test(name)) return null;
  const joined = name.replace(/[._-]/g, "");
  return joined.length >= JOINED_MIN && joined !== name && isRole(joined) ? joined : null;
}
