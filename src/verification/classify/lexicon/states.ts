/** Position of a word for a state relative to its noun. */
export type Side = "before" | "after" | "either";

export interface StateTerms {
  side: Side;
  /** Characters between it and a noun that follows; small for words that go with anything. */
  reach?: number;
  /** Only `is` may be between it and a noun in front. */
  near?: true;
  terms: readonly string[];
}

/** The mailbox does not exist. */
export const ABSENT: readonly StateTerms[] = [
  {
    side: "either",
    terms: [
      "unknown, unkown, uknown, unknow, nonexistent, non-existent, non-existant, nonexistant, non existing, nonexisting",
      "unrouteable, unroutable, unresolvable, unkonwn, unknwon, unrecognized, unrecognised, not known, not registered, unregistered",
      "unbekannt, unbekannte, unbekannter, unbekanntes, unbekannten, nicht bekannt, inconnu, inconnue, inconnus, inexistant",
      "inexistante, introuvable, desconocido, desconocida, inexistente, inexistentes, desconhecido, desconhecida, sconosciuto",
      "sconosciuta, onbekend, onbekende, okänd, okänt, ukendt, ukjent, tuntematon, nieznany, nieznana, nieznane, nieznanego",
      "nieistniejący, nieistniejąca, nieistniejące, neznámý, neznámá, neznáma, neexistující, neexistujúci, nepoznat, ismeretlen",
      "nem létező, necunoscut, necunoscută, inexistent, inexistentă, bilinmeyen, bilinmiyor, nežinomas, tundmatu, άγνωστος",
      "неизвестен, неизвестный, неизвестного, неизвестна, неизвестно, несуществующий, невідомий, непознат, 未知, 不明, 不明な",
      "알 수 없는, 存在しない, 존재하지 않는, desconegut",
    ],
  },
  { side: "either", near: true, terms: ["undefined, obsolete"] },
  {
    side: "after",
    terms: [
      "not in recipient list, not in recipients list, not in the recipient list, not on recipient list, not in user list, not in users list",
      "not in valid recipient list, not in valid recipients, not in relay recipient table, not in recipient table, not in recipient map",
      "not in recipient maps, not in recipient database, not in relay recipients, not a mailbox here, not a valid mailbox here, not in user database",
      "non enregistré, non enregistrée, niet geregistreerd, nicht registriert, não cadastrado, não cadastrada, não está cadastrado",
      "não está cadastrada, no registrado, no registrada, no está registrado, no está registrada, non registrato, non registrata",
      "non è registrato, non è registrata, isn't registered, not provisioned, not been created, not created, isn't exist, not exit, dosent exist, doesnt exit",
      "doesn't work here, does not work here, no longer working, dosn't exist, dose not exist, does'nt exist, don not exist, not exsit, not exits, not exsist, doesnot exist, not existent",
      "not available here, isn't known, isn't listed, not present, is absent, not deliverable here, not listed in public name, not on the list of users",
      "no longer on server, no longer on the server, no longer on our, no longer at this, no longer at our, no longer used, no longer in service, has gone, is gone, never existed here, could not be located, couldn't be located, cannot be located, can't be located",
      "wasn't found, isn't found, not on file, not on record, not in alias, not in local, not in virtual, not in database",
      "no longer employed, no longer works, no longer with, not found, notfound, cannot be found, can't be found, could not be found, couldn't be found, was not found, not be found",
      "not exist, not exists, not exists here, don't exist, doesn't exist, doesnt exists, don't exists, didn't exist",
      "does no exist, does no exists, do no exist, no exist, no exists, not existing, no longer exist, no longer exists, never existed, does not appear to exist",
      "not listed, not in directory, not in our directory, not in the directory, not present in, not recognized, not recognised",
      "not on this server, not on this system, not on our system, no longer on this server, no longer here, no longer valid",
      "is not here, not local, not defined, not located, not in my, not in our, not in the list, not in list, not here",
      "has been deleted, has been removed, was deleted, was removed, is deleted, deleted, removed, no longer available",
      "left the company, left our company, left the organization, left the organisation, isn't in service, not in service, not one of ours, does not resolve to a mailbox, doesn't resolve to a mailbox, is not configured on this, mailbox gone, no longer accepts mail",
      "gibt es bei uns nicht, gibt es hier nicht, nicht vergeben, gelöscht, wurde gelöscht, supprimé, supprimée, a été supprimé, a été supprimée, eliminado, eliminada, removido, removida, excluído, excluída, apagado, eliminato, eliminata, verwijderd, slettet, borttaget, raderat, poistettu, usunięte, usunięty, usunięta, smazán, smazána, törölve, silinmiş, 已注销, 已註銷, 已删除, 已被删除, 已刪除, 삭제된, с таким именем нет, с таким адресом нет",
      "no longer on system, no longer on the system, no longer on this system, no longer on our system, no longer on host, no found, not founded, not be founded, not fund, not foud, not fount",
      "has moved, has left, doesn't live here, does not live here, doesn't get mail here, does not get mail here, does not receive mail here, is missing, is not ours, isn't here, not hosted on this",
      "existiert nicht, nicht gefunden, nicht vorhanden, gibt es nicht, nicht existent, existieren nicht, nicht existiert",
      "n'existe pas, n'existe plus, n existe pas, n existe plus, n'existent pas, non trouvé, non trouvée, pas trouvé",
      "no existe, no existen, no encontrado, no encontrada, no se encuentra, no fue encontrado, no fue encontrada",
      "não existe, não existem, não encontrado, não encontrada, não foi encontrado, não foi encontrada, não localizado",
      "non esiste, non esistono, non trovato, non trovata, non presente, inesistente, non è stato trovato, non è attivo qui",
      "bestaat niet, niet gevonden, niet bekend, finns inte, finns ej, existerar inte, findes ikke, eksisterer ikke",
      "finnes ikke, ikke funnet, ikke fundet, ei löydy, ei ole olemassa, nie istnieje, nie znaleziono, nie został znaleziony",
      "nie została znaleziona, neexistuje, nenalezen, nenalezena, nebyl nalezen, nebyla nalezena, nenájdený, ne postoji",
      "ne obstaja, nem található, nem létezik, nu există, nu exista, nu a fost găsit, negăsit, bulunamadı, bulunamadi, yok",
      "mevcut değil, neegzistuoja, neeksistē, ei leitud, ei ole, δεν υπάρχει, δεν βρέθηκε",
      "не найден, не найдена, не найдено, не существует, не существуют, не зарегистрирован, отсутствует, не знайдено",
      "не знайдений, не існує, не съществува, 不存在, 不在, 没有找到, 未找到, 找不到, 無效, は存在しません, 存在しません, 見つかりません",
      "がありません, 찾을 수 없습니다, 존재하지 않습니다, 없습니다, no està, no s'ha trobat",
    ],
  },
  {
    side: "before",
    terms: [
      "no redirect entry for, no redirect for, no forward entry for, no forwarder for, no alias entry for, no alias for, there is no mailbox for, there is no account for, there is no user for, no mailbox for, no account for, no mapping for, no entry found for",
      "not a deliverable, dont have this, do not have this, dont have such a, do not have such a, have no such, no such, not a valid, not a known, not an existing, not a real, isn't a valid, not a local",
      "don't exists that, doesn't exist that, don't exist that, no valid, no known, no local, no matching",
      "cannot find, can't find, couldn't find, could not find, did not find, didn't find, unable to find, unable to locate",
      "have no record of, is no record of, has no record of, have no record for, no entry for, no match for, no record of, no record for, no exist, not exist, not exist this, no exist this",
      "do not recognize, do not recognise, don't recognize, don't recognise, doesn't recognize, does not recognize, doesn't recognise",
      "never heard of, there is nobody here by, there's nobody here by, there's no one here by, nobody here with, no one here with",
      "not a registered, not an active, isn't a registered, isn't a known, não existe tal, no existe tal, no hay ninguna, no hay ningún",
      "cannot locate, can't locate, couldn't locate, could not locate, nobody with",
      "don't know, do not know, doesn't know, does not know, no one by, no one with, there is no one here by, there is nobody by, nobody by, no one here by, nobody here by, anyone by",
      "brak takiego, brak takiej, there isn't a, there is not a, kein, keine, keinen, kein solcher, keine solche, aucun, aucune, pas de, pas d, n'existe pas de, n'existe pas d",
      "no existe el, no existe la, no existe ese, no existe esa, no existe, ningún, não existe o, não existe a, nenhum",
      "não existe, nenhuma, nessun, nessuna, nessuno, non esiste l, non esiste, geen, ingen, nie ma takiego, nie ma takiej",
      "nie ma, nie istnieje, nie znaleziono, neexistuje, není, neni, žádný, nincs ilyen, nincs, nu există, böyle bir",
      "нет такого, нет такой, такого, не найден, не найдена, не існує, немає такого, няма такъв, 没有此, 没有该, 查无此, 查無此",
      "無此, 无此, 没有, 没有这个, そのような, 그런, cap",
    ],
  },
  {
    side: "before",
    reach: 7,
    terms: ["no, not our, not a"],
  },
  {
    side: "before",
    reach: 12,
    terms: [
      "does not have a, doesn't have a, does not have an, doesn't have an, do not have a, don't have a, do not have an",
    ],
  },
  {
    side: "before",
    reach: 12,
    terms: [
      "do not have any, don't have any, does not have any, doesn't have any, don't have an, we have no, has no, have no, there is no, there's no, does not contain",
    ],
  },
];

/** Not as it should be, by whichever fault: believed of a mailbox, not of an address that is badly written. */
export const INVALID: readonly StateTerms[] = [
  {
    side: "either",
    terms: [
      "invalid, not valid, isn't valid, is not a valid, illegal, bad, wrong, incorrect",
      "non valid, misspelled, mis-spelled, misspelt, mistyped, marked as invalid, invalide, invalides, non valide, ungueltig, ungueltige, ungueltiger, ungueltiges, ungültig, ungültige, ungültiger, ungültiges, inválido, inválida",
      "no válido, no válida, incorrecto, incorrecta, incorreto, non valido, non valida, errato, ongeldig, ongeldige, ogiltig",
      "ugyldig, virheellinen, nieprawidłowy, nieprawidłowa, niepoprawny, neplatný, neplatná, érvénytelen, invalid, geçersiz",
      "nevažeći, неверный, недействителен, недействительный, недійсний, невалиден, 无效, 無效, 無効, 無効な, 잘못된, 유효하지 않은",
    ],
  },
];

/** Words for a mailbox that does not exist, and for one that is busy. */
export const UNAVAILABLE: readonly StateTerms[] = [
  {
    side: "either",
    near: true,
    terms: ["unavailable, not available, non disponible, nicht verfügbar, nicht erreichbar, no disponible"],
  },
  { side: "after", terms: ["unknown or not available, indisponible, non disponibile, indisponível"] },
];

/** There, and shut. */
export const SHUT: readonly StateTerms[] = [
  {
    side: "either",
    terms: [
      "archived, archivée, archiviert, archiviata, suspend the service, suspended the service, no longer monitored, dormant, sleeping, hibernated, mothballed, retired, decommissioned, de-activated, not yet activated, disabled, suspended, deactivated, inactive, not active, isn't active, not activated, closed, terminated, frozen",
      "locked, expired, discontinued, cancelled, canceled, no longer active, no longer in use, not in use, not enabled",
      "shut down, switched off, abgeschaltet, deaktiviert, deaktiviertes, gesperrt, gesperrtes, inaktiv, stillgelegt, geschlossen, abgelaufen, désactivé, désactivée",
      "suspendu, suspendue, inactif, inactive, fermé, fermée, clôturé, bloqué, bloquée, desactivado, desactivada, inactivo",
      "inactiva, suspendido, suspendida, deshabilitado, deshabilitada, bloqueada, bloqueado, cerrada, desativado, desativada",
      "inativo, inativa, suspenso, suspensa, cancelada, disabilitato, disabilitata, disattivato, disattivata, sospeso, sospesa",
      "non attivo, non attiva, inattivo, inattiva, scaduto, scaduta, chiusa, gedeactiveerd, geblokkeerd, uitgeschakeld",
      "avstängd, avstängt, inaktiverad, deaktiveret, lukket, deaktivert, stengt, suljettu, zablokowane, zablokowana",
      "zablokowany, nieaktywne, nieaktywny, nieaktywna, wyłączone, wyłączony, zrušen, zrušena, deaktivován, zablokován",
      "zablokována, neaktivní, letiltva, felfüggesztve, dezactivat, suspendat, devre dışı, kapalı, askıya alınmış",
      "заблокирован, заблокирована, заблокировано, отключен, отключена, отключён, неактивен, неактивна, удален, удалена",
      "удалён, закрыт, приостановлен, заблокований, вимкнено, 停用, 已停用, 禁用, 已禁用, 冻结, 已冻结, 被禁用, 被停用, 被冻结, 凍結",
      "停止中, 無効化, 利用停止, 정지, 중지, 비활성",
    ],
  },
];

/** There, and full. */
export const FULL: readonly StateTerms[] = [
  {
    side: "either",
    terms: [
      "full, overfull, over quota, overquota, over its quota, over the quota, over storage quota, over disk quota, quota exceeded",
      "exceeded quota, exceeds quota, quota violation, quota limit, storage limit, out of space, out of storage, over limit",
      "has insufficient disk space, insufficient space, exceeded the quota, exceeded its quota, exceeded his quota",
      "exceeded his disk space, exhausted allowed storage, exhausted allowed storage space, limit exceeded for this email address, limit exeeded, exceed mailbox quota",
      "exceeds mailbox quota, too many messages on the server, not have enough space, no space left, size limit exceeded",
      "voll, überfüllt, ist voll, speichervolumen, pleine, plein, saturée, llena, lleno, excedido su cuota, cheia, cheio",
      "lotada, piena, pieno, esaurita, vol, full inkorg, täynnä, pełna, pełny, przepełniona, plná, plny, megtelt, plin, dolu",
      "переполнен, переполнена, переполнено, превышена квота, заповнена, 已满, 已滿, 满了, 空间不足, 容量已满, 容量超過, 가득",
    ],
  },
  {
    side: "before",
    terms: [
      "no disk space left for, no disk space for, storage exceeded for, there is no space in, there is no more space in, no space in, no more space in, no free space in, no space left in, no room in, no room for, not enough space in, not enough space for, not enough room in",
      "not enough storage for, not enough storage in, not enough storage space in, insufficient space in, insufficient space for, insufficient storage in, insufficient storage for, insufficient storage space in, insufficient storage space for",
      "size limit of, storage limit of, would exceed quota for, would exceed quota of, would exceed the quota of, exceed quota for, exceed quota of, exceed the quota of, exceed the quota for, exceeds quota for, exceeds the quota of, exceeded quota for, out of space in, quota exceeded for, quota violation for, too many messages in",
    ],
  },
  {
    side: "after",
    terms: [
      "has no room, has no space, has no free space, has no more space, has no storage space, limit of storage reached",
    ],
  },
];

/** Whole statements without a noun for the recipient, or with one of their own. */
export const ABSENT_WHOLE: readonly string[] = [
  "nobody home, no one at this address, there's no one at this address, nobody at this address, nobody called that, anyone with that name, does not have mailbox, doesn't have mailbox, does not match any user, doesn't match any user, does not match any known user, does not match any account, does not match any recipient, does not match any alias",
  "does not match any mailbox, doesn't match any mailbox, not one of our users, not one of our customers, not one of our recipients",
  "cannot resolve recipient, can't resolve recipient, could not resolve recipient, unable to resolve recipient, unable to resolve user",
  "recipient cannot be resolved, recipient could not be resolved, cannot resolve user, could not resolve user",
  "not known here, unknown here, not our user, not our customer, recipnotfound, recipientnotfound, usernotfound, nosuchuser, usernotexist, user_not_found, nosuchmailbox",
  "not a customer of ours, not a user, not user of, not a recipient, not an email address, not an address here, in my validrcptto list, user notfound, norcpt, 查无此人, 查無此人, 该用户未开通, 未开通",
];
