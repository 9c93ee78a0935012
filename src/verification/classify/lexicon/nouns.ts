/**
 * Words for the recipient, in the languages that servers answer in. Spelt as people spell them; matching is on folded text
 * (spoken.ts). A `~` ends a stem. `@` is an address.
 */
export const RECIPIENT_NOUNS: readonly string[] = [
  "@",
  // English
  "user, users, user record, mailbox record, account record, user name, username, user id, userid, mail user, email user, e-mail user, local user, virtual user, user account",
  "recipient, recipients, recipient address, rcpt, rcpt to, envelope recipient, message recipient, addressee, receiver",
  "mailbox, mail box, mailboxes, mail-box, inbox, mail drop, maildrop, mbox, postbox, box",
  "account, accounts, acct, mail account, email account, e-mail account",
  "address, addresses, adress, mail address, email, e-mail, email address, e-mail address, emailaddress, destination",
  "destination address, destination mailbox, local part, localpart, alias, aliases, customer, subscriber, person, member, gateway user",
  "employee, student, mail id, email id, e-mail id, that name, this name, such name, that id, such id, id, forwarder",
  // German
  "benutzer~, empfänger, empfängers, empfaenger, empfängeradresse, empfaengeradresse, postfach, postfächer, mailadresse",
  "emailadresse, e-mail-adresse, e-mailadresse, adresse, konto, mailkonto, e-mail-konto, emailkonto, nutzer, teilnehmer",
  "mailbox-name, adressat, kunde, person dieses namens",
  // French
  "utilisateur, utilisateurs, destinataire, destinataires, boîte, boîte aux lettres, boite mail, compte, usager, abonné",
  "adresse email, adresse e-mail, adresse mail, adresse d au moins un destinataire, titulaire, correspondant",
  // Spanish, Portuguese, Catalan
  "usuario, usuarios, destinatario, destinatarios, buzón, cuenta, cuenta de correo, dirección, dirección de correo",
  "casilla, usuário, usuários, destinatário, destinatários, utilizador, caixa postal, caixa de correio, conta, bústia",
  "pessoa, persona, conta de e-mail, conta de email, endereço, endereço de e-mail, endereço de email, usuari, compte de correu",
  // Italian, Romanian
  "utente, utenti, casella, casella di posta, casella postale, indirizzo, indirizzo email, indirizzo e-mail, mail box",
  "utilizator, utilizatorul, utilizatorului, destinatar, destinatarul, contul, cont, adresa, cutia poștală",
  // Dutch, Scandinavian, Finnish
  "gebruiker, ontvanger, postbus, mailadres, emailadres, e-mailadres, adres, geadresseerde",
  "användare, användaren, mottagare, mottagaren, brevlåda, brevlådan, adressen, kontot, bruger, brugeren, modtager",
  "modtageren, postkasse, postkassen, bruker, brukeren, mottaker, mottakeren, postboks, kontoen, e-postadressen",
  "käyttäjä, käyttäjää, käyttäjätunnus, vastaanottaja, vastaanottajaa, postilaatikko, postilaatikkoa, osoite, osoitetta",
  // Polish, Czech, Slovak, Croatian, Slovene, Hungarian, Turkish, Baltic, Greek
  "użytkownik~, adresat~, odbiorca, odbiorcy, skrzynka, skrzynki, skrzynka pocztowa, konta, konto pocztowe, adresu",
  "uživatel~, adresát, příjemce, schránka, schránku, účet, adresy, používateľ~, príjemca, schránka, prejemnik, uporabnik",
  "korisnik, primatelj, primalac, poštanski sandučić, predal, felhasználó, címzett, postafiók, fiók, cím, e-mail cím",
  "kullanıcı, kullanıcısı, alıcı, hesap, posta kutusu, e-posta adresi, adresi, vartotojas, gavėjas, lietotājs, kasutaja",
  "saņēmējs, adresāts, χρήστης, παραλήπτης, διεύθυνση, λογαριασμός",
  // Russian, Ukrainian, Bulgarian
  "пользовател~, получател~, адресат~, адрес, адреса, ящик, ящика, почтовый ящик, почтового ящика, учетная запись, абонент~",
  "учётной записи, аккаунт, имя пользователя, користувач~, одержувач~, отримувач~, скринька, поштова скринька, потребител~",
  // Chinese, Japanese, Korean
  "用户, 用戶, 使用者, 收件人, 收信人, 邮箱, 信箱, 帐号, 账号, 帳號, 账户, 帐户, 帳戶, 邮箱地址, 邮件地址, 地址, 收件者, 收件地址",
  "宛先, ユーザ, ユーザー, メールボックス, メールアドレス, アドレス, 受信者, アカウント, 사용자, 수신자, 메일함, 계정, 주소, 받는 사람",
];

/** Words for the sender. None of them can make a recipient unknown. */
export const SENDER_NOUNS: readonly string[] = [
  "sender, senders, sender address, sending address, mail from, return path, return address, from address, envelope from",
  "originating mailbox, originating address, originating account, reverse path, reverse path address, from: address, sending user, sending account, adresse d expédition, 送信元, 送信元アドレス, 发信地址, 发信人地址, 发件地址, 发件人地址, 发送方, 发送方地址, 寄件地址, 발신 주소, 발신 계정",
  "envelope sender, originator, mailfrom, senders address",
  "absender~, expéditeur, adresse de l'expéditeur, émetteur, remitente, remetente, mittente, afzender, avsändare, afsender",
  "người gửi, địa chỉ gửi, pengirim, alamat pengirim, pošiljalac, pošiljatelj~, saatja~, siuntėj~, sūtītāj~, αποστολέ~, изпращач~, подател~, lähettäj~",
  "avsender, lähettäjä, nadawc~, odesílatel~, odosielateľ~, feladó, gönderen, gönderici, expeditor~, pošiljatelj, отправител~",
  "відправник~, 发件人, 寄件人, 寄件者, 发信人, 送信者, 差出人, 発信者, 발신자, 보낸 사람",
];

/** Objects other than a mailbox that may be unknown, invalid or not found. */
export const OTHER_NOUNS: readonly string[] = [
  "address family, address literal, address list, allowed addresses, bounce address, connecting address, originating user",
  "envelope address, list member, spam trap, spamtrap, vacation program, program, source address, remote address, peer address",
  "forwarding address, forwarded to an, forward address, sending mailbox, reply-to, reply-to address, your address, your mailbox, your account",
  "您的地址, 您的邮箱, 您的帐号, 您的账号, 你的邮箱, 你的地址, あなたのアドレス, your email, your email address, your e-mail address, your user, client address, senders account, sender account",
  "user config, user configuration, user count, recipient count, recipient list, email size, alias expansion, api user, smtp account, smtp user, mail account payment, account payment, certificate address, ip地址, ip アドレス, ipアドレス, ip 地址, ip주소, ip 주소",
  "domain, domains, domain name, recipient domain, destination domain, subdomain, tenant, organization, organisation, zone",
  "host, hosts, hostname, host name, helo, ehlo, helo name, ip, ips, ip address, client, client host, server, servers",
  "mail server, mail servers, name server, greeting, reverse, lookup, check, access, permission, ip addresses, nameserver, mail host, mx, mx record, mx records, dns, dns record, a record, ptr, rdns, spf",
  "dkim, dmarc, arc, tls, ssl, starttls, relay, relays, proxy, peer, network, connection, session, port, route",
  "command, commands, parameter, argument, arguments, option, extension, protocol, syntax, sequence, character, characters",
  "format, address format, address syntax, encoding, charset, language, message, messages, message id, header, headers",
  "from header, subject, date, body, content, attachment, attachments, file, file type, mime, url, link, virus, spam, profile, settings, setting, folder, state, home directory, index, preferences, configuration, store, mailbox store, mail system, system, systems, loop",
  "password, passwords, credential, credentials, user name or password, user or password, login, authentication",
  "certificate, key, token, signature, license, licence, subscription, policy, rule, filter, record, records, entry",
  "error, errors, reason, problem, failure, fault, cause, exception, code, status, response, reply, service, services",
  "gateway, gateways, site, sites, request, requests, user agent, user policy, user quota, user database, user directory, user lookup, recipient verification, recipient table",
  "address verification, account manager, account administrator, directory server, ldap, database, backend, quota, storage",
  "resource, resources, process, mailer, transport, queue, domäne, domain-name, rechner, verbindung, kennwort, passwort",
  "nachricht, domaine, nom de domaine, hôte, serveur, mot de passe, commande, dominio, servidor, host, contraseña, senha",
  "domínio, comando, mensagem, mensaje, server di posta, password, comando, messaggio, domeny, domena, serwer, domén~",
  "domeeni, verkkotunnus, домен~, сервер~, хост, узел, команда, пароль, сообщени~, 域名, 域, 主机, 服务器, 密码, 命令, 郵件",
  "sasl, user group, user groups, class, type, role, level, privilege, privileges, mailserver, mail-server, zugriff, berechtigung, erlaubnis, rechte, accès, autorisation, acceso, permiso, acesso, permissão, accesso, permesso, toegang, toestemming",
  "dostęp, dostępu, uprawnień, přístup, přístupu, oprávnění, доступ~, разрешени~, åtkomst, adgang, tilgang, pääsy~, erişim, izin, hozzáférés, acces, πρόσβαση, 权限, 權限",
  "domein, domeinnaam, domän, domänen, domene, domenet, domæne, domeniul, domeniu, tartománya, tartomány, τομέας, τομέα, домейнът",
  "disk, disks, partition, file system, filesystem, volume, spool, ruleset, whitelist, blacklist, allowlist, greylist, list, table, map, website, web site, form, feature, product, ticket, support case, campaign, newsletter, mailing",
  "tên miền, máy chủ, domænet, verkkotunnusta, τομέα~, διακομιστ~, домейн~, сървър~, домейн, alan adı, sunucu~, tartomány, kiszolgáló, doména, poslužitelj, strežnik, domeni~, serveri~, palvelin, tjener, servidora, serveur de",
  "수 없는, 권한이 없는, ドメイン, ホスト, サーバ, サーバー, コマンド, 도메인, 서버, people, country, region, license key, tls certificate",
];
