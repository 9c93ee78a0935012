/** Words of one language that excuse the recipient, whatever the reply states about a mailbox. */
export interface AcquittingTerms {
  /** The failure is temporary: temporarily, maintenance, try later, while, until. */
  passing: string;
  /** The client must authenticate: log in, password. */
  proof: string;
  /** Shut to strangers or to some, or the sender is meant: external, sender, your address. */
  asker: string;
  /** The other half of an alternative: `not found or access denied`. */
  alternative: string;
}

/**
 * By ISO 639 code. Spelt as people spell them, matched folded; a `~` ends a stem. `Try again` without `later` is not
 * included: servers answer `check the address and try again` for mailboxes that do not exist.
 */
export const ACQUITTING: Readonly<Record<string, AcquittingTerms>> = {
  en: {
    passing:
      "in cache, in progress, lookup in, temporar~, maintenance, during, while we, while the, pending, retry, please retry, until, challenge, resend after, resend later, please resend, busy, resume, resumes, reactivation, migration, migrating, backup, restoration, try node, use primary, use mx2, use mx3, out of sync, replica, not answering, between",
    proof:
      "wrong password, login, log in, logged in, authenticat~, auth, credentials, submission, used to connect",
    asker:
      "of your, from your, deleted you, removed you, blocked you, rejected you, used to send, used for sending, you use to, email deleted, e-mail deleted, email removed, e-mail removed, external sender~, external mail, strangers, stranger, your ip, your address, for you, you are not, you are a, you are using, you are sending, you are unknown, you are blocked, you must, must complete, must be, fully qualified, excessive, lookups, in policy, policy map, to router, to transport, mx of, secondary mx, backup mx, all mail for, helo, ehlo, the domain this, you have been, you wrote, your domain, your server, your machine, your mailings, your campaign, your mailing list, do not mail list, from the internet, internet mail, client class, dlp, acl, certificate, license, licence, cluster, next hop, this node, this pod, ptr, reverse zone, reverse path, spool, for tls, third party, parental control, friends, bypass list, legal hold, gateway closed, rehomed, configuration error, the email was, the e-mail was, the email has been, the e-mail has been, our domain, not mx for, connect to, unlisted, hard bounced, bounced before, bounce rate, gateway down, not local to this",
    alternative:
      "or not enabled to receive, or not enabled for, or is not enabled, or cannot receive, or may not receive, or does not accept, or doesnt accept, or is not accepting, or refuses, or unwilling, or is restricted, or is protected, or rejected your, or you are not, or spam, or access denied, or access is denied, or access not, or blocked, or is blocked, or policy, or by policy, or prohibited, or not permitted, or not allowed, or not authorized, or not authorised, or restricted, or unauthorized, or no permission, or refused by policy, or rejected by policy",
  },
  de: {
    passing:
      "vorübergehend~, temporär~, zeitweise, zeitweilig, derzeit, zur zeit, zurzeit, momentan, wartung, wartungsarbeiten, später erneut, später noch einmal, versuchen sie es in, stunde, stunden, minuten, später, während, bis zum, gestört, störung",
    proof: "kennwort, passwort, anmeldung, anmelden, angemeldet, authentifizier~",
    asker:
      "sie senden, mit dem sie, zum versand, zum senden, ihr konto, ihre domain, ihre domäne, ihr postfach, ihres kontos, ihre mailbox, ihr account, ihr benutzerkonto, fremden, fremde, externe absender, externe, extern, absender~, sie sind, hat sie, ihre adresse, ihre ip, ihrem server, ihr server, ip adresse~, nur intern, von mitgliedern, akzeptiert keine, nimmt nur, ausserhalb, enthält, verbindung abgelehnt",
    alternative:
      "oder nimmt keine, oder akzeptiert keine, oder darf keine, oder nicht freigeschaltet, oder lehnt, oder zugriff, oder gesperrt, oder blockiert, oder nicht berechtigt, oder nicht erlaubt, oder kein zugriff, oder richtlinie",
  },
  fr: {
    passing:
      "temporaire~, provisoire~, momentanement, maintenance, plus tard, pendant, jusqu au, jusqu a, migration, en cours de, annuaire indisponible",
    proof: "mot de passe, authentifi~, connectez, identifiant~",
    asker:
      "vous utilisez, vous envoyez, utilisé pour, l'envoi, votre compte, votre boîte, votre domaine, étranger~, externe~, extérieur, expéditeur~, d expédition, vous êtes, votre adresse, votre ip, votre machine, votre serveur, adresse ip, adresse inverse, n'accepte pas",
    alternative:
      "ou non habilité~, ou n'accepte pas, ou n'est pas autorisé~, ou ne peut recevoir, ou refus~, ou accès refusé, ou bloqué~, ou interdit~, ou non autorisé~, ou politique",
  },
  es: {
    passing: "temporal~, mantenimiento, más tarde, reintent~, durante, mientras, hasta, demasiados intentos",
    proof: "contraseña, autentic~, iniciar sesión, inicie sesión",
    asker:
      "que usa para, para enviar, utilizada para, usada para, su cuenta, su buzón, tu cuenta, su dominio, extern~, desconocidos, remitente~, su dirección, su ip, ip bloqueada, dirección ip, por el usuario, su servidor",
    alternative:
      "o no habilitado, o no habilitada, o no acepta, o no puede recibir, o rechaza~, o no está autorizad~, o acceso denegado, o acceso, o bloqueado, o bloqueada, o no permitido, o no autorizado, o política",
  },
  pt: {
    passing:
      "temporari~, temporária~, manutenção, mais tarde, durante, enquanto, até, fora do ar, por excesso de",
    proof: "senha, autentic~, palavra passe, iniciar sessão",
    asker:
      "usada para, usado para, para enviar, utilizada para, sua conta, seu domínio, a sua caixa, extern~, estranhos, remetente~, seu endereço, seu ip, endereço ip, seu servidor, você",
    alternative:
      "ou não habilitad~, ou não aceita, ou não pode receber, ou recusa~, ou não está autorizad~, ou acesso negado, ou acesso, ou bloqueado, ou bloqueada, ou não permitido, ou não autorizado, ou política",
  },
  ca: {
    passing: "temporal~, manteniment, més tard, durant, fins",
    proof: "contrasenya, autentic~",
    asker: "extern~, remitent~, la seva adreça, la seva ip",
    alternative: "o accés denegat, o bloquejat, o no permès",
  },
  it: {
    passing: "temporane~, manutenzione, più tardi, durante, fino al, fino a, mentre",
    proof: "password, autentic~, credenziali, accedere",
    asker:
      "utilizzato per, usato per, l'invio, per inviare, suo account, suo dominio, vostro dominio, vostro account, sua casella, vostra casella, tuo account, estern~, estranei, mittent~, suo indirizzo, vostro indirizzo, suo ip, indirizzo ip, lei è",
    alternative:
      "o non abilitat~, o non accetta, o non può ricevere, o rifiuta~, posta non certificata, o accesso negato, o accesso, o bloccato, o bloccata, o non consentito, o non autorizzato",
  },
  ro: {
    passing: "temporar~, mentenanță, întreținere, mai târziu, în timpul, până",
    proof: "parola, parolă, autentific~",
    asker: "contul dvs, dvs, dumneavoastră, extern~, străini, expeditor~, adresa dvs, adresa ip",
    alternative: "sau acces refuzat, sau acces, sau blocat, sau nepermis",
  },
  nl: {
    passing: "tijdelijk~, onderhoud, later opnieuw, tijdens, totdat, momenteel, zolang",
    proof: "wachtwoord, aanmelden, inloggen, authenticatie",
    asker:
      "waarmee u, voor verzending, u verzendt, uw account, uw mailbox, je account, uw domein, extern~, vreemden, afzender~, uw adres, uw ip, ip adres, u bent, uw server, accepteert geen",
    alternative:
      "of niet bevoegd, of accepteert geen, of mag geen, of toegang, of geblokkeerd, of niet toegestaan",
  },
  sv: {
    passing: "tillfällig~, underhåll, senare, medan, tills, för närvarande",
    proof: "lösenord~, logga in, autentiser~",
    asker:
      "ditt konto, er konto, din domän, extern~, främlingar, avsändar~, din adress, din ip, ip adress~, er adress",
    alternative: "eller åtkomst, eller blockerad, eller inte tillåt~",
  },
  da: {
    passing: "midlertidig~, vedligehold~, senere, indtil, i øjeblikket",
    proof: "adgangskode~, log ind, godkendelse",
    asker:
      "din konto, deres konto, dit domæne, ekstern~, fremmede, afsender~, din adresse, din ip, ip adresse~",
    alternative: "eller adgang, eller blokeret, eller ikke tilladt",
  },
  no: {
    passing: "midlertidig~, vedlikehold, senere, inntil, for øyeblikket",
    proof: "passord~, logg inn, autentiser~",
    asker:
      "kontoen din, din konto, ditt domene, ekstern~, fremmede, avsender~, din adresse, din ip, ip adresse~",
    alternative: "eller tilgang, eller blokkert, eller ikke tillatt",
  },
  fi: {
    passing: "tilapäis~, väliaikai~, huolto~, myöhemmin, toistaiseksi, kunnes",
    proof: "salasana~, kirjaudu~, tunnistau~",
    asker:
      "tilisi, tilinne, osoitteenne, verkkotunnuksesi, ulkopuoli~, ulkoi~, lähettäj~, osoitteesi, ip osoit~",
    alternative: "tai pääsy, tai estetty, tai ei sallittu",
  },
  pl: {
    passing: "tymczasow~, czasowo, chwilowo, konserwacj~, później, podczas, dopóki, prace serwisowe",
    proof: "hasło, hasła, zaloguj, logowani~, uwierzytelni~",
    asker:
      "do wysyłania, z którego, twoje konto, państwa konto, twoja skrzynka, twoja domena, zewnętrzn~, obcych, nadawc~, twój adres, twoje ip, adres ip",
    alternative:
      "lub nie przyjmuje, lub nieuprawnion~, lub odrzuc~, lub dostęp, lub zablokowan~, lub brak dostępu, albo dostęp",
  },
  cs: {
    passing: "dočasn~, údržb~, později, během, dokud",
    proof: "heslo, hesla, přihlás~, ověření, autentiz~",
    asker:
      "váš účet, vaše schránka, vaše doména, externí~, cizí~, odesílatel~, vaše adresa, vaše ip, ip adres~",
    alternative: "nebo nepřijímá, nebo není oprávněn~, nebo přístup, nebo blokován~, nebo zablokován~",
  },
  sk: {
    passing: "dočasn~, údržb~, neskôr, počas, kým",
    proof: "heslo, hesla, prihlás~, overenie",
    asker: "váš účet, vaša schránka, extern~, cudz~, odosielateľ~, vaša adresa, vaša ip",
    alternative: "alebo prístup, alebo blokovan~",
  },
  hr: {
    passing: "privremen~, održavanj~, kasnije, tijekom, tokom, dok ne",
    proof: "lozink~, prijav~",
    asker: "vaš račun, vaš nalog, vanjsk~, spoljn~, pošiljatelj~, pošiljalac, vaša adresa, vaša ip",
    alternative: "ili pristup, ili blokiran~",
  },
  sl: {
    passing: "začasn~, vzdrževanj~, pozneje, kasneje, dokler",
    proof: "geslo, gesla, geslom, prijav~",
    asker: "zunanj~, pošiljatelj~, vaš naslov, vaš ip",
    alternative: "ali dostop, ali blokiran~",
  },
  hu: {
    passing: "átmeneti~, ideiglenes~, karbantart~, később, közben",
    proof: "jelszó, jelszava, bejelentkez~, hitelesít~",
    asker: "az ön, fiókja le, saját fiók, külső, idegen~, feladó~, az ön címe, ip cím~",
    alternative: "vagy hozzáférés, vagy letiltva, vagy nem engedélyezett",
  },
  tr: {
    passing: "geçici~, bakım~, daha sonra, sırasında, kadar",
    proof: "şifre~, parola~, oturum aç~, kimlik doğrula~",
    asker:
      "hesabınız~, kutunuz~, sunucunuz~, alan adınız, harici, dışarıdan, yabancı~, gönderen~, gönderici~, adresiniz, ip adres~",
    alternative: "veya erişim, veya engellen~, ya da erişim",
  },
  lt: {
    passing: "laikin~, vėliau, priežiūr~",
    proof: "slaptažod~, prisijun~",
    asker: "išorin~, siuntėj~, jūsų adresas",
    alternative: "arba prieiga, arba užblok~",
  },
  lv: {
    passing: "īslaicīg~, uz laiku, vēlāk, apkop~",
    proof: "parol~, pieslēg~",
    asker: "ārēj~, sūtītāj~, jūsu adrese",
    alternative: "vai piekļuve, vai bloķēt~",
  },
  et: {
    passing: "ajutise~, ajutine, hooldus~, hiljem",
    proof: "parool~, logi sisse",
    asker: "väline, välise~, saatja~, teie aadress",
    alternative: "või juurdepääs, või blokeeri~",
  },
  el: {
    passing: "προσωριν~, συντήρηση~, αργότερα, μέχρι",
    proof: "κωδικ~, σύνδεση, πιστοποίηση",
    asker: "σας, εξωτερικ~, αποστολέ~, διεύθυνσή σας",
    alternative: "ή πρόσβαση, ή αποκλεισμέν~",
  },
  ru: {
    passing:
      "временно, временный, временная, техническ~, обслуживани~, на время, через час, позже, во время, пока, до конца",
    proof: "парол~, авториз~, аутентиф~, войдите",
    asker:
      "для отправки, с которого, ваша учетная, ваш аккаунт, ваш ящик, вашей учетной, вашего домена, ваш домен, внешн~, посторонн~, незнаком~, отправител~, ваш адрес, ваш ip, вашего адреса, ip адрес~, вас",
    alternative:
      "или не принимает, или не имеет права, или отклон~, или доступ, или заблокирован~, или запрещен~, или не разрешен~",
  },
  uk: {
    passing: "тимчасов~, обслуговуванн~, пізніше, під час, поки, на час",
    proof: "парол~, авториз~, автентиф~",
    asker: "ваш обліковий, ваша скринька, вашого, зовнішн~, сторонн~, відправник~, ваша адреса, ip адрес~",
    alternative: "або доступ, або заблоков~, або заборон~",
  },
  bg: {
    passing: "временно, временен, временна, поддръжк~, по късно, докато",
    proof: "парол~, удостовер~",
    asker: "външн~, изпращач~, подател~, вашият адрес",
    alternative: "или достъп, или блокиран~",
  },
  zh: {
    passing: "暂时, 暫時, 临时, 臨時, 暂停, 暫停, 维护, 維護, 稍后, 稍後, 期间, 期間, 直到, 目前",
    proof: "密码, 密碼, 登录, 登錄, 登入, 认证, 認證, 身份验证, 授权码",
    asker:
      "您的帐, 您的账, 您的帳, 您的域, 你的帐, 你的账, 贵司, 陌生人, 外部, 外域, ip地址, ip 地址, 反向解析, 发件, 寄件, 发信, 發信, 发送方, 发送者, 您的ip, 您的地址, 因发送, 垃圾邮件",
    alternative:
      "或拒绝访问, 或访问被拒绝, 或无权, 或被拒收, 或拒收, 或被屏蔽, 或被阻止, 或沒有權限, 或没有权限",
  },
  ja: {
    passing: "一時的, メンテナンス, しばらく, 後で, 後ほど, 中です, 期間, 現在",
    proof: "パスワード, 認証, ログイン",
    asker: "外部, 送信元, 送信者, 差出人, 発信, あなたの, ipアドレス, ip アドレス, 形式",
    alternative: "またはアクセス, または拒否, あるいはアクセス, または許可",
  },
  ko: {
    passing: "일시적, 임시, 점검, 나중에, 동안, 현재",
    proof: "비밀번호, 암호, 로그인, 인증",
    asker: "권한, 회원님의, 외부, 발신, 보낸, 귀하의, ip 주소, ip주소",
    alternative: "또는 액세스, 또는 접근, 또는 차단, 혹은 접근",
  },
  vi: {
    passing: "tạm thời, bảo trì, thử lại sau, trong khi, hiện tại",
    proof: "mật khẩu, đăng nhập, xác thực",
    asker: "bên ngoài, người gửi, của bạn, địa chỉ ip",
    alternative: "hoặc truy cập, hoặc bị chặn, hoặc không được phép",
  },
  id: {
    passing: "sementara, pemeliharaan, coba lagi, selama, saat ini",
    proof: "kata sandi, masuk ke, otentikasi, autentikasi",
    asker: "eksternal, pengirim~, anda, dari luar, alamat ip",
    alternative: "atau akses, atau diblokir, atau tidak diizinkan",
  },
};
