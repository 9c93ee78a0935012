/** Words about mailboxes in one language, in addition to those of `nouns.ts` and `states.ts`. */
export interface MailboxTerms {
  /** The mailbox, its owner, its address. */
  mailbox?: string;
  /** The mailbox does not exist. */
  absent?: string;
  /** Whole statements that name the mailbox, for languages with another word order or without spaces. */
  nobody?: string;
  /** There, and shut. */
  shut?: string;
  /** There, and full. */
  full?: string;
  /** Full without a word for the mailbox: a quota, room or storage that is used up. */
  used?: string;
}

/**
 * By ISO 639 code. Spelt as people spell them: a word is also found without its accents, with `ae` for `ä`, and with `?` in
 * place of characters that a gateway could not write (spoken.ts). A `~` ends a stem.
 */
export const BY_LANGUAGE: Readonly<Record<string, MailboxTerms>> = {
  en: {
    mailbox:
      "mailaddress, mail-address, mailuser, mailid, useraccount, user mailbox, emailuser, mbx, dest., destin., rcpt., recip., addr., usr, emailbox, emailaccount, mail-account, mailaccount",
    absent:
      "not in ldap, does not resolve, not matched, not on our system, not a mailbox on, nonexistant, in-existent, does not match anyone, not in our system, not in our database, doesnt exist, no longer an active, not a current, never registered, has never existed",
    shut: "not active any more, isnt in use, not in use any more, disabled by admin, deleted by user, deleted by the user, deleted by owner, deleted by its owner, deleted by the owner, removed by user, removed by owner, removed by its owner, deleted at the, deleted on request, deleted due to inactivity, deleted for inactivity, removed due to inactivity, blocked, locked out, deprovisioned, de-provisioned, turned off, shut off, unused, put on hold, on hold, being closed, permanently closed, stopped, inactivated, not activate",
    full: "exceeded mail quota, not have enough disk space, exceeded its limits, exceeded his limit, exceeded his mailbox limit, exceeded mailbox limit, exceeded the mailbox limit, exceeded the limit of its, has reached the limit, has reached its limits, reached its size limit, reached its limit, reached its maximum, reached its maximum size, reached the maximum size, reached the size limit, reached its quota, reached its storage, reached capacity, reached quota, reached its capacity, reached its storage limit, exceeded its limit, exceeded its size, exceeded its size limit, exceeded allowed size, exceeds allowed size, exceeded its allowed, exceeded the allowed size, exceeded the maximum size, exceeded maximum size, exceeded its storage, exceeded their quota, exceeding their quota, exceeding its quota, exceeded its capacity, exceeded its disk space, exceeded its disk space limit, over its limit, over its storage limit, over the storage limit, over the allowed quota, over their quota, over allowed quota, above quota, at capacity, overloaded with messages, size exceeded, size limit reached, capacity exceeded, storage exceeded, is overflowing, overflow, overflowed, no space, no free space, no more space, no room, has no storage, used up, would exceed maximum allowed storage, would exceed quota, would exceed its quota, too many messages in, run out of space, ran out of space, ran out of storage, not have enough storage, space not enough, not enough space, not enough storage, insufficient storage",
    used: "quota violation, mailbox limit exceeded, mailbox limit reached, storage full, storage is full, quota is over, quota over, out of quota, quota has been exceeded, quota is exceeded, quota was exceeded, quota is full, quota full, quota reached, quota has been reached, quota exhausted, quota overflow, quota usage exceeded, mailbox storage full, no space left in mailbox",
  },
  de: {
    mailbox: "postfachs, empf., mailboxinhaber, e-mail-postfach, benutzerkonto, mailkontos, kontos",
    absent:
      "niemand unter dieser, niemand mit dieser, niemand mit diesem, niemanden mit, niemanden unter dieser, nicht eingerichtet, nicht angelegt, nicht zugeordnet, nicht mehr vorhanden, existiert nicht mehr, ist erloschen",
    shut: "nicht mehr aktiv, nicht aktiv, gekündigt, aufgelöst, suspendiert, stillgelegtes, gesperrtes, nicht mehr genutzt, eingefroren",
    full: "erschöpft, überfüllt, speicherlimit erreicht, speicherlimit, speicherplatz, hat keinen platz, kein speicherplatz, überschritten",
    used: "kontingent überschritten, quota überschritten, kontingent erschöpft, speicherplatz erschöpft, quota erreicht, speicherplatz überschritten, quota des benutzers überschritten",
  },
  fr: {
    mailbox: "boîtes, dest., util., boîte e-mail, boîte de réception, adresse de messagerie",
    absent:
      "personne à cette, personne à l'adresse, personne de ce, personne avec cette, personne avec ce, n'est pas connu, n'est pas connue, n'est plus valide, pas de destinataire, supprimées",
    shut: "désactivées, résilié, résiliée, expiré, expirée, archivées, clôturée, n'est plus active, n'est plus actif, n'est pas active, verrouillé, verrouillée",
    full: "saturé, remplie, a dépassé son quota, quota dépassé, insuffisant",
    used: "quota dépassé, quota atteint, dépassement de quota, quota de la boîte dépassé, quota de l'utilisateur dépassé, espace de stockage insuffisant, espace insuffisant, espace disque insuffisant dans la boîte, espace de stockage de la boîte",
  },
  it: {
    mailbox:
      "dest., destin., destinat., ut., casella e-mail, casella di posta elettronica, indirizzo di posta",
    absent:
      "nessuno con questo, nessuno con tale, nessuno a questo, inesist., sconosc., non risulta, non è presente, non è valido, non censito, non attivato",
    shut: "bloccata, bloccato, chiuso, cessata, cessato, cancellata, cancellato, sospese, non più attiva, non più attivo, disatttivata, disattiva",
    full: "superato, esaurito, satura, ha superato la quota, oltre quota",
    used: "quota superata, spazio esaurito, quota esaurita, superata la quota, superato lo spazio, spazio insufficiente nella casella, superamento quota, superato il limite di spazio",
  },
  es: {
    mailbox: "dest., destin., usr., casilla de correo, buzón de correo, correo electrónico, la persona",
    absent:
      "nadie con ese, nadie con esa, nadie con este, nadie con esta, nadie con tal, nadie en esta, nadie en esa, no corresponde a ningún, no es válido, no es válida, no existente, no existe dicha, no existe dicho, no existe un, no existe una, dada de baja, dado de baja",
    shut: "cerrado, ha expirado, expirada, expirado, vencida, caducada, en estado inactivo, estado inactivo, cancelado, inhabilitado, inhabilitada, no activa, no activo, ya no está activa, dormida",
    full: "está llena, está lleno, repleto, saturado, saturada, sobre cuota, sin espacio, ha excedido su cuota, ha superado su cuota, excedido la cuota",
    used: "cuota excedida, cuota superada, excedida la cuota, cuota agotada, espacio insuficiente en el buzón, espacio insuficiente en la casilla, espacio agotado, límite de almacenamiento excedido, supera la cuota",
  },
  pt: {
    mailbox: "dest., usuar., caixa de email, caixa de e-mail, caixa de entrada, correio",
    absent:
      "ninguém com esse, ninguém com essa, ninguém com este, ninguém neste, ninguém nesse, não é válido, não é válida, não cadastrado no, não localizada, inexiste",
    shut: "encerrada, encerrado, expirada, expirado, cancelado, congelada, fechada, não está ativa, não está ativo",
    full: "excedeu a quota, excedeu a cota, excedeu sua cota, excedeu sua quota, atingiu o limite, acima da quota, acima da cota, sem espaço, esgotado, esgotada",
    used: "quota excedida, cota excedida, quota ultrapassada, cota ultrapassada, limite de armazenamento excedido, espaço esgotado, espaço da caixa postal esgotado, sem espaço na caixa, estourou a cota",
  },
  nl: {
    mailbox: "postvak, brievenbus, geadr., mailaccount, e-mailaccount, ontv.",
    absent:
      "niemand met dat, niemand met dit, niemand met deze, niemand op dit, niemand op dat, bestaat niet meer, niet aanwezig, bestaat hier niet, niet in gebruik",
    shut: "opgeheven, opgeschort, gesloten, niet meer actief, niet actief, geblokkeerde, afgesloten, verlopen, stopgezet, inactief, vergrendeld",
    full: "zit vol, overschreden, heeft zijn limiet bereikt, te vol",
    used: "quota overschreden, quotum overschreden, opslaglimiet overschreden, opslagruimte vol, schijfruimte overschreden",
  },
  pl: {
    mailbox: "odbiorcy, konto e-mail, skrzynce, skrzynkę, użytkow., adresata, adresatem",
    absent:
      "nikogo o takim, nikogo z takim, nikt o takim, nie jest znany, nie odnaleziono, nieistniejącego, nie występuje, nie zostało znalezione, zostało usunięte, została usunięta, został usunięty",
    nobody:
      "nie znaleziono odbiorcy, nie znaleziono użytkownika, nie znaleziono adresu, nie znaleziono skrzynki, nie znaleziono konta, nie znaleziono adresata",
    shut: "zawieszone, zawieszona, zawieszony, wygasło, wygasła, wyłączona, zamknięte, zamknięta, zablokowane administracyjnie, zdezaktywowane, zdezaktywowana, dezaktywowane",
    full: "przepełnione, przekroczyła limit, zapełniona, zapełniony, nie ma miejsca",
    used: "przekroczono limit pojemności, przekroczona quota, przekroczony limit, brak miejsca w skrzynce, brak miejsca na koncie, przekroczono pojemność, przekroczona pojemność, przekroczono limit skrzynki",
  },
  cs: {
    mailbox: "schránky, adresou, jménem, příjemci, účtu, e-mailová adresa, e-mailový účet",
    absent:
      "nikdo s touto, nikdo s tímto, nikoho s touto, nebylo nalezeno, není znám, není známa, neni znamy, nebyla nalezena, neexistujici",
    shut: "blokována, zrušeno, deaktivována, deaktivovaná, deaktivovaný, pozastaven, pozastavena, uzavřena, uzamčena, uzamčen, vypršel, vypršela, neaktivni, zablokovaná",
    full: "přeplněna, přeplněná, zaplněna, překročila",
    used: "překročena kvóta, kvóta překročena, překročena kvóta schránky, nedostatek místa ve schránce, překročen limit schránky, překročena velikost schránky",
  },
  sk: {
    mailbox: "schránka, používateľské konto, konto",
    absent: "nebol nájdený, nebola nájdená, nie je známy",
    shut: "zablokovaná, zablokovaný, zrušená, zrušený, neaktívna, neaktívny, pozastavená",
    full: "preplnená, zaplnená",
    used: "prekročená kvóta, kvóta prekročená",
  },
  hr: {
    mailbox: "račun, sandučić, adresa, korisnički račun, nalog",
    absent: "nije pronađen, nije pronađena, nepostojeći",
    shut: "blokiran, deaktiviran, onemogućen, zatvoren, zaključan, suspendiran, isključen",
    full: "pun, je pun, prepun, popunjen",
    used: "kvota prekoračena, prekoračena kvota",
  },
  sl: {
    mailbox: "nabiralnik, račun",
    absent: "neznan, neznana, ni najden, ne obstoji",
    shut: "onemogočen, zaklenjen, deaktiviran, zaprt",
    full: "poln, prepoln",
    used: "kvota presežena, presežena kvota",
  },
  hu: {
    mailbox: "postafiókja, postafiókot, felhasználói fiók, e-mail fiók, levelesláda, postaláda",
    absent: "nem ismert, nem található ilyen, ismeretlen",
    shut: "megszűnt, zárolva, zárolt, inaktív, megszüntetve, le van tiltva, törölt, felfüggesztett, deaktiválva",
    full: "tele van, tele, betelt, túllépte",
    used: "kvóta túllépve, kvóta túllépés, túllépte a kvótát, kvóta betelt, tárhely betelt",
  },
  ro: {
    mailbox: "căsuța, căsuța poștală, cutia, căsuța de e-mail, utiliz.",
    absent: "nu este cunoscut, inexistenți, nu a fost găsită, nu exista aici",
    shut: "inactiv, inactivă, blocat, blocată, dezactivată, închis, închisă, suspendată, expirat",
    full: "plină, este plin, este plină, depășit, a depășit cota",
    used: "cota depășită, cotă depășită, spațiu insuficient în căsuță, depășirea cotei",
  },
  sv: {
    mailbox: "mottagarens, postlåda, e-postkonto, e-postadress, inkorg, användarkonto, kontot",
    absent: "finns inte här, är okänd, saknas, hittades inte, kunde inte hittas",
    shut: "spärrat, spärrad, stängt, stängd, inaktivt, inaktiv, avslutat, låst, avaktiverat, avaktiverad, upphört",
    full: "är full, överfull, fullt",
    used: "kvoten överskriden, kvoten är överskriden, överskriden kvot, kvot överskriden",
  },
  da: {
    mailbox: "konto, mailboks, modtagerens, e-mailadresse, e-mailadressen, brugerkonto",
    absent: "ikke kendt, blev ikke fundet, kunne ikke findes, eksisterer ikke længere",
    shut: "spærret, suspenderet, lukkede, inaktiv, inaktiveret, nedlagt, udløbet, låst, deaktiverede",
    full: "fuld, er fuld, overfyldt, fyldt",
    used: "kvote overskredet, kvoten er overskredet, overskredet kvote, kvoten overskredet",
  },
  no: {
    mailbox: "konto, postboksen, mottakerens, e-postadresse, brukerkonto, innboks",
    absent: "er ukjent, ble ikke funnet, eksisterer ikke lenger, finst ikkje",
    shut: "sperret, suspendert, inaktiv, avsluttet, utløpt, låst",
    full: "full, er full, overfylt",
    used: "kvoten er overskredet, kvote overskredet, kvoten overskredet, overskredet kvote",
  },
  fi: {
    mailbox:
      "tili, tiliä, käyttäjätili, sähköpostiosoite, sähköpostiosoitetta, sähköpostilaatikko, käyttäjän, vastaanottajan",
    absent: "ei tunneta, ei löytynyt, ei ole, ei ole enää",
    shut: "suljettu, lukittu, poistettu käytöstä, jäädytetty, ei ole käytössä, passiivinen",
    full: "täynnä, täysi, ylittynyt",
    used: "kiintiö ylitetty, kiintiö ylittynyt, kiintiö täynnä, tallennustila täynnä",
  },
  tr: {
    mailbox:
      "hesabı, kullanıcı hesabı, posta kutusu, alıcının, alıcı adresi, e-posta hesabı, e-posta kutusu, adres",
    absent:
      "tanımlı değil, kayıtlı değil, mevcut degil, geçerli değil, bulunmuyor, bulunmamaktadır, bulunmamaktadir",
    shut: "askıya alındı, kapatılmış, kapatıldı, pasif, kilitli, kilitlenmiş, bloke, bloke edilmiş, dondurulmuş, aktif değil, devredışı",
    full: "doldu, dolmuş, kotasını aştı",
    used: "kota aşıldı, kotası doldu, kotası dolu, kota dolu, kotası aşıldı, kota aşımı, kotayı aştı",
  },
  lt: {
    mailbox: "pašto dėžutė, dėžutė, paskyra",
    absent: "nerastas, nėra",
    shut: "užblokuota, išjungta, sustabdyta",
    full: "pilna, perpildyta",
  },
  lv: {
    mailbox: "pastkaste, konts",
    absent: "nav atrasts, nepazīstams, nezināms",
    shut: "bloķēts, slēgts, atslēgts",
    full: "pilna",
  },
  et: {
    mailbox: "kasutajat, postkast, konto, aadressi, aadress",
    absent: "ei leitud, ei eksisteeri",
    shut: "suletud, blokeeritud",
    full: "täis",
  },
  el: {
    mailbox: "γραμματοκιβώτιο, θυρίδα, χρήστη, παραλήπτη, λογαριασμό, ηλεκτρονική διεύθυνση",
    absent: "άγνωστη, άγνωστο, ανύπαρκτος, ανύπαρκτη, δεν βρέθηκαν",
    shut: "απενεργοποιημένος, απενεργοποιηθεί, απενεργοποιήθηκε, έχει ανασταλεί, ανασταλεί, κλειδωμένος, κλειστός, ανενεργός, ανενεργό, διαγραφεί",
    full: "γεμάτο, γεμάτη, πλήρης, πλήρες",
    used: "υπέρβαση ορίου θυρίδας, υπέρβαση χώρου, υπέρβαση ορίου γραμματοκιβωτίου",
  },
  ru: {
    mailbox:
      "адресом, именем, почтовом ящике, ящике, ящик получателя, учётная запись, учётной записи, почтового адреса, почтовый адрес, такого ящика, такой ящик",
    absent:
      "никого с таким, никого с этим, не найдены, не известен, не существующий, не обнаружен, не значится, несуществующего",
    shut: "деактивирован, деактивирована, приостановлена, блокирован, неактивный, закрыта, отключены, удалена, удалено, заморожен, заморожена",
    full: "полон, заполнен, заполнена, нет места, превышен размер, превысил квоту, превышен лимит",
    used: "превышена квота, квота превышена, превышен размер почтового ящика, недостаточно места в ящике, нет места в ящике, превышена квота ящика, превышен объем ящика, квота исчерпана",
  },
  uk: {
    mailbox:
      "скриньку, поштову скриньку, обліковий запис, користувача, отримувача, поштової скриньки, адресата",
    absent: "невідомий, невідома, не знайдена, не зареєстрований, відсутній",
    shut: "заблокована, заблоковано, заблокована за, вимкнений, деактивовано, деактивований, призупинено, видалено, видалений",
    full: "переповнена, переповнено, повна",
    used: "перевищено квоту, квоту перевищено, квота перевищена, недостатньо місця в скриньці",
  },
  bg: {
    mailbox:
      "потребителят, пощенска кутия, пощенската кутия, кутия, акаунт, акаунтът, получател, получателят",
    absent: "не е намерен, неизвестен, несъществуващ, няма",
    shut: "блокиран, деактивиран, спрян, закрит, деактивирана",
    full: "е пълна, пълна, препълнена",
    used: "надвишена квота, квотата е надвишена",
  },
  zh: {
    nobody:
      "无法找到收件人, 找不到收件人, 无法找到用户, 找不到用户, 未找到收件人, 未找到用户, 没有找到用户, 没有找到收件人",
    mailbox: "收件箱, 用户邮箱, 帳戶, 电子邮箱, 电子邮件地址, 邮件帐户, 收件人邮箱, 收件人地址",
    absent: "找不到该, 找不到此, 未找到该, 没有该, 已离职, 不是有效, 无效的, 未注册, 不存在此",
    shut: "被锁定, 已锁定, 已被锁定, 锁定, 已被封停, 被封停, 封停, 已过期, 过期, 已被禁用, 已被停用, 被冻结, 已关闭, 已失效, 休眠, 已封禁, 已被封禁, 鎖定, 已鎖定, 已過期, 已關閉, 未激活",
    full: "空間不足, 容量不足, 容量已滿, 超出配额, 超过配额, 超出限额, 超过容量, 已超容, 容量超限, 爆满, 存储空间不足",
    used: "超出邮箱容量, 超过邮箱容量, 邮箱容量已满, 邮箱空间不足, 超出配额",
  },
  ja: {
    mailbox: "受信箱, メールボックスの容量, ユーザ名, 受信ボックス",
    absent: "見つかりませんでした, 存在しておりません, 登録されていません, 存在いたしません",
    nobody:
      "宛先不明, 存在しないユーザー, 存在しないユーザ, 存在しないアドレス, 存在しないメールアドレス, 存在しない宛先",
    shut: "無効化されています, 停止されています, 利用停止, 凍結されています, ロックされています, ロックされて, 無効になって, 無効です, 停止しています, 休止, 解約, 閉鎖",
    full: "いっぱい, 満杯, 一杯, 超えています, 超過, 空きがありません, 上限に達し, オーバー",
    used: "容量超過, 容量を超え, 容量オーバー, 容量不足",
  },
  ko: {
    mailbox: "메일 주소, 수신함, 받은편지함, 편지함, 메일박스, 회원",
    absent: "존재하지 않음",
    nobody:
      "없는 계정, 없는 사용자, 없는 메일 주소, 없는 아이디, 존재하지 않는 사용자, 존재하지 않는 계정, 존재하지 않는 메일, 존재하지 않는 수신자",
    shut: "휴면, 비활성화, 정지된, 중지된, 잠겼습니다, 잠긴, 탈퇴, 폐쇄, 해지",
    full: "가득 찼습니다, 가득 차, 초과되었습니다, 초과하였습니다, 용량이 초과, 꽉",
    used: "용량 초과, 용량이 초과, 용량이 부족, 할당량 초과, 메일함 용량",
  },
  ca: {
    absent: "no existeix, inexistent",
    shut: "desactivat, desactivada, bloquejada, suspesa",
    full: "és plena, plena",
    used: "quota excedida",
  },
  vi: {
    mailbox: "người dùng, người nhận, hộp thư, tài khoản, địa chỉ email, địa chỉ, email",
    absent: "không tồn tại, không tìm thấy, không có thực",
    shut: "đã bị khóa, bị khóa, bị vô hiệu hóa, ngừng hoạt động, không hoạt động",
    full: "đầy, đã đầy",
    used: "vượt quá hạn mức hộp thư, hết dung lượng",
  },
  id: {
    mailbox: "pengguna, penerima, alamat email, alamat surel, alamat, kotak surat, akun",
    absent: "tidak ditemukan, tidak dikenal, tidak ada, tidak terdaftar",
    shut: "dinonaktifkan, ditangguhkan, diblokir, tidak aktif, dikunci, ditutup",
    full: "penuh",
    used: "kuota terlampaui, melebihi kuota",
  },
};
