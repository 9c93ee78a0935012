/**
 * The consumer domains that mail.com offers its users, including those it no longer offers: their mailboxes remain.
 * mailchecker lists two dozen of them as disposable, the other lists none.
 */
const NAMES =
  "accountant.com activist.com adexec.com africamail.com allergist.com alumni.com alumnidirector.com angelic.com " +
  "appraiser.net archaeologist.com arcticmail.com artlover.com asia.com atheist.com auctioneer.net bartender.net " +
  "bellair.net berlin.com bikerider.com birdlover.com blader.com boardermail.com brazilmail.com brew-master.com " +
  "brew-meister.com californiamail.com cash4u.com catlover.com cheerful.com chef.net chemist.com chinamail.com " +
  "clerk.com clubmember.org collector.org columnist.com comic.com computer4u.com consultant.com contractor.net " +
  "coolsite.net counsellor.com cutey.com cyber-wizard.com cyberdude.com cybergal.com cyberservices.com dallasmail.com " +
  "dbzmail.com deliveryman.com diplomats.com disciples.com discofan.com doctor.com doglover.com doramail.com dr.com " +
  "dublin.com dutchmail.com elvisfan.com email.com engineer.com englandmail.com europe.com europemail.com execs.com " +
  "fastservice.com feelings.com financier.com fireman.net galaxyhit.com gardener.com geologist.com germanymail.com " +
  "graduate.org graphic-designer.com greenmail.net groupmail.com hackermail.com hairdresser.net hilarious.com " +
  "hockeymail.com homemail.com hot-shot.com housemail.com humanoid.net iname.com indiamail.com inorbit.com " +
  "innocent.com instruction.com instructor.net insurer.com irelandmail.com israelmail.com italymail.com " +
  "japan.com job4u.com journalist.com keromail.com kissfans.com kittymail.com koreamail.com lawyer.com legislator.com " +
  "linuxmail.org lobbyist.com london.com loveable.com lovecat.com madonnafan.com madrid.com mail-me.com mail.com " +
  "marchmail.com metalfan.com mexicomail.com mindless.com minister.com moscowmail.com munich.com musician.org " +
  "muslim.com myself.com net-shopping.com newyork.com ninfan.com nonpartisan.com null.net nycmail.com optician.com " +
  "orthodontist.net pacific-ocean.com pacificwest.com pediatrician.com petlover.com photographer.net physicist.net " +
  "planetmail.com planetmail.net playful.com polandmail.com politician.com post.com presidency.com priest.com " +
  "programmer.net protestant.com publicist.com qualityservice.com radiologist.net ravemail.com realtyagent.com " +
  "reborn.com reggaefan.com registerednurses.com reincarnate.com religious.com repairman.com representative.com " +
  "rescueteam.com rocketship.com rome.com royal.net safrica.com saintly.com salesperson.net samerica.com " +
  "sanfranmail.com scientist.com scotlandmail.com secretary.net seductive.com singapore.com snakebite.com " +
  "socialworker.net sociologist.com solution4u.com songwriter.net spainmail.com surgical.net swedenmail.com " +
  "swissmail.com teachers.org tech-center.com techie.com technologist.com theplate.com therapist.net toke.com " +
  "tokyo.com toothfairy.com torontomail.com tvstar.com umpire.com usa.com uymail.com webname.com whoever.com " +
  "winning.com witty.com worker.com workmail.com writeme.com";

export const MAIL_COM_DOMAINS: readonly string[] = NAMES.split(" ");
