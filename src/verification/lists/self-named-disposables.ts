/**
 * Throw-away domains with a name that says so (temporary, throw-away, disposable, fake, ten minutes, trash; mail or inbox).
 * They are on a list of MIT licence (disposable-domains 2.0.1, @dahoom/disposable-email 0.3.253, disposable-email-domains
 * 1.0.62), and missing in the lists of compile.ts. The other 109 000 names of those are left out: they have been copied
 * from one another for years, most are dead, and many are expired domains of real people and companies that may be theirs
 * again.
 */
const NAMES =
  "10-minute-mail.net 10-minutemail.org 10-minutes.email 10minemail.net 10minmail.eu 10minmail.pro " +
  "10minute-mail.com 10minuteemails.com 10minuteinbox.com 10minutemail.cx 10minutemail.dev 10minutemail.one " +
  "10minutemail2.com 10minutes.email 10minutesmail.us 10minutesmails.com 15-minute-email.com 1tempmail.com " +
  "20min.email 2tempmail.com 30minemail.com 30minutesmail.com another-temp-mail.com besttemp.email " +
  "besttempmail.xyz besttemporaryemail.com burneremail.io burnerinbox.cc disposable-temporary-email.com " +
  "disposableemail.co disposableemail.us disposableinbox.xyz disposablemail.com disposablemail.net " +
  "disposablemail.pro disposablemailhub.com e-tempmail.com easytempinbox.com easytempmail.com easytrashmail.eu " +
  "email-temporaire.fr email10min.com emailtemp.xyz emailtemporal.org emailtemporanee.com emailtemporario.xyz " +
  "fake-emails.com fake-mail.live fake-mail.net fake-wegwerf.email fakeemail.net fakeemailaddress.net " +
  "fakemail.ro fakemail.work firetempmail.com freetemporaryemail.com generatetempmail.xyz get-temp-mail.biz " +
  "get-tempmail.com getempmail.com gettempmail.net gettempmail.site gmailtemp.com gotempmail.com.br " +
  "gotempmail.me hottempmail.cc hottempmail.com itempmail.com itempmails.com kingtmp.email mail-temp.info " +
  "mail-temp.pro mail-temp.shop mailfake.ga mailtemp.dev mailtemp.edu.pl mailtemp.io mailtemp.top mailtemp.uk " +
  "mailtemp.us mailtemp4u.fun mailtemp4u.sbs mailtempo.xyz mailtemporarily.org mailtemps.com mailtmp.buzz " +
  "mailtmp.com minutemail.cc minutemail.co minutemail.xyz my-tempmail.com onetempmail.com temp-email.id " +
  "temp-email.io temp-email.pro temp-emails.org temp-inbox.com temp-mail-365.info temp-mail-free.com " +
  "temp-mail.africa temp-mail.asia temp-mail.ca temp-mail.cam temp-mail.it temp-mail.london temp-mail.news " +
  "temp-mail.org.in temp-mail.pk temp-mail.store temp-mail.today temp-mail.top temp-mail.web.id " +
  "temp-mail.website temp-mail.work temp-mail.world temp-mailbox.xyz temp-mailfb.shop temp-mailhub.com " +
  "temp-maill.org temp-mailx.net tempemail.in tempemail.live tempemail.ninja tempemailbox.com tempemailnow.com " +
  "tempemailpro.com tempemails.net tempinbox.dev tempinbox.io tempmail-box.online tempmail-plus.com " +
  "tempmail-store.tech tempmail.africa tempmail.al tempmail.cat tempmail.ch tempmail.com.tr tempmail.cx " +
  "tempmail.edu.pl tempmail.gg tempmail.gratis tempmail.help tempmail.host tempmail.lat tempmail.ltd " +
  "tempmail.org.pl tempmail.pink tempmail.pro.vn tempmail.rest tempmail.ro tempmail.run tempmail.sbs " +
  "tempmail.sk tempmail.sx tempmail.tel tempmail.us.com tempmail001.icu tempmail10.com tempmail100.com " +
  "tempmail24.com tempmail3.com tempmail44.com tempmail44.shop tempmail44.xyz tempmaila.org tempmaila.pro " +
  "tempmailapi.com tempmailapi.io.vn tempmailb.com tempmailbank.com tempmailbox-io.com tempmailbox.io " +
  "tempmaildrop.com tempmaile.com tempmailed.com tempmailer.in tempmailer.online tempmailes.com tempmailex.com " +
  "tempmailfree.com tempmailfree.pro tempmailgenerator.co tempmailgo1.com tempmailgo2.com tempmaill.io " +
  "tempmaillab.com tempmailled.com tempmailled.edu.pl tempmailm.com tempmailm.xyz tempmailmaster.io " +
  "tempmailmmo.co.uk tempmailmmo.com tempmailnow.org tempmailo.org tempmailonline.xyz tempmailplus.net " +
  "tempmailpro.in tempmailpro.io tempmailpro.org tempmailpro.site tempmailpro.space tempmailpro.xyz " +
  "tempmails.in tempmails.online tempmails.tech tempmailsai.com tempmailsbox.com tempmailsbox.xyz " +
  "tempmailsite.com tempmailso.com tempmailss.com tempmailten.com tempmailv5.site tempmailvip.io.vn " +
  "tempmailvip.online tempmailx.xyz tempmaily.com tempmailz.com tempmailzu.com temporary-mail.online " +
  "temporaryemail.ai temporaryemail.com temporaryemail.io temporaryemail.site temporarymail.com " +
  "temporarymail.fr temps-mail.shop thetemp.email throwawayemail.cc throwawaymail.app throwinbox.com " +
  "throwmail.cc throwmail.io throwmail.net throwmailer.site tmpmail.co tmpmails.com trashmail.in trashmail.live " +
  "trashmail.lol trashmailapp.com trashmails.lol viptempmail.com yourtemp.email";

export const SELF_NAMED_DISPOSABLES: readonly string[] = NAMES.split(" ");
