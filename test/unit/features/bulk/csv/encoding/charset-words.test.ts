import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { detectEncoding } from "../../../../../../src/features/bulk/csv/encoding/charset.ts";
import { textIn } from "../../../../../../src/features/bulk/csv/field.ts";
import { analyseList } from "../../../../../support/analysed-list.ts";
import { encodedIn } from "../../../../../support/encoded-in.ts";

/** The header and a name of each row; the first cell of a row is its address. */
function listOf([header = "", ...names]: readonly string[]): string {
  return `${[header, ...names.map((name, at) => `user${at}@example.com;${name}`)].join("\n")}\n`;
}

/** 200 rows of the same names. */
function longList([header = "", ...names]: readonly string[]): string {
  return listOf([header, ...Array.from({ length: 200 }, (_, at) => names[at % names.length] ?? "")]);
}

/** The encoding, the header and the names. */
const LEGACY: readonly (readonly [string, ...string[]])[] = [
  ["windows-1253", "Όνομα;Ηλεκτρονική διεύθυνση", "Γιώργος", "Ελευθερία", "Σταύρος"],
  ["windows-1253", "email;name", "Αλέξανδρος Βλάχος", "Μαρίνα Λεβέντη", "ΠΑΝΟΣ ΚΑΡΑΣ"],
  ["iso-8859-7", "email;name", "Αλέξανδρος Βλάχος", "Άρης Σωτηρίου", "Θεοδώρα Ευσταθίου", "Μάκης"],
  ["windows-1255", "email;name", "אביב שלום", "רותם ברק", "גלית נחום"],
  ["windows-1255", 'שם;דוא"ל', "עמית", "ורד", "יניב"],
  ["iso-8859-8", "email;name", "אביב שלום", "רותם ברק", "גלית נחום", "צבי"],
  ["windows-1256", "email;name", "عبد القادر بن عيسى", "سمير حداد", "غادة السمان"],
  ["iso-8859-6", "email;name", "سمير حداد", "غادة السمان", "نبيل شعث"],
  ["windows-1256", "الاسم;البريد الإلكتروني", "سمير", "غادة", "نبيل"],
  ["windows-1251", "email;name", "Игорь Зайцев", "Светлана Гусева", "Роман Тихонов"],
  ["koi8-r", "email;name", "Игорь Зайцев", "Светлана Гусева", "Роман Тихонов"],
  ["iso-8859-5", "email;name", "Игорь Зайцев", "Светлана Гусева", "Роман Тихонов"],
  ["koi8-r", "email;name", "Игорь Зайцев", "Светлана Гусева", "Роман Тихонов"],
  ["koi8-u", "email;name", "Тарас Гнатюк", "Лілія Їжакевич", "Богдан Стецюк", "Єлизавета"],
  ["windows-1251", "email;name", "Тарас Гнатюк", "Лілія Савчук", "Богдан Стецюк"],
  ["windows-1251", "email;name", "Живко Желев", "Росица Банкова", "Тодор Кючуков"],
  ["windows-1251", "email;name", "Бранислав Тадић", "Зорица Ђукић", "Небојша Поповић"],
  ["windows-1250", "Jméno;Příjmení;E-mail", "Radim;Šťastný", "Libuše;Havlíčková", "Květoslav;Řezníček"],
  [
    "windows-1250",
    "email;name",
    "Břetislav Kašpar",
    "Ludmila Soukupová",
    "Přemysl Zouhar",
    "Miloň Čepelka",
    "Eva Bartůňková",
  ],
  [
    "iso-8859-2",
    "email;name",
    "Břetislav Kašpar",
    "Ludmila Soukupová",
    "Přemysl Zouhar",
    "Miloň Čepelka",
    "Eva Bartůňková",
  ],
  [
    "windows-1250",
    "email;imie",
    "Bogusław Sadło",
    "Wiesława Gąsior",
    "Przemysław Żak",
    "Jagoda Świerczyńska",
  ],
  ["iso-8859-2", "email;imie", "Bogusław Sadło", "Wiesława Gąsior", "Przemysław Żak", "Jagoda Świerczyńska"],
  [
    "windows-1250",
    "email;nev",
    "Gyöngyi Fehérvári",
    "Ottó Tímea",
    "Zsófia Őszné",
    "Csaba Mezőfi",
    "Réka Gyűrűs",
    "Nándor Petőfi",
    "Bence Erdősi",
  ],
  [
    "windows-1250",
    "email;nume",
    "Vasile Lupaşcu",
    "Ileana Cozmâncă",
    "Sorin Ghiţă",
    "Oana Păduraru",
    "Dănuţ Crăciun",
  ],
  ["windows-1250", "email;ime", "Zdravko Čolić", "Đino Kolić", "Mirjana Bogdanić", "Željana Mršić"],
  [
    "windows-1250",
    "email;meno",
    "Ľudmila Ďurišová",
    "Radoslav Hrčka",
    "Vladimír Mečiar",
    "Vlasta Kňažková",
    "Ľuba Blaškovičová",
  ],
  ["windows-1254", "email;ad", "Ayşegül Kırmızı", "Oğuz Başaran", "Şebnem Alkış", "Tolga Bağcı"],
  ["windows-1254", "Adı;Soyadı;E-posta", "Barış;Taşdemir", "Çağrı;Işıklı", "İnci;Yazıcı"],
  [
    "windows-1257",
    "email;vardas",
    "Giedrė Šliūpaitė",
    "Artūras Zuokas",
    "Kazimiera Prunskienė",
    "Aistė Smilgevičiūtė",
  ],
  [
    "windows-1257",
    "email;vards",
    "Raimonds Pauls Grīnbergs",
    "Baiba Āriņa",
    "Ģirts Valdis Ķeņģis",
    "Vaira Freiberga Vīķe",
  ],
  [
    "iso-8859-13",
    "email;vards",
    "Raimonds Pauls Grīnbergs",
    "Baiba Āriņa",
    "Ģirts Valdis Ķeņģis",
    "Vaira Freiberga Vīķe",
  ],
  ["windows-1257", "email;nimi", "Tõnis Mägi", "Kersti Põldsam", "Šarlotte Õun", "Jõeleht Žanna"],
  ["windows-874", "email;name", "พิชัย รัตนกุล", "สุนีย์ ศรีสวัสดิ์", "อภิสิทธิ์ เวชชาชีวะ"],
  ["windows-874", "ชื่อ,อีเมล", "วรรณา", "สมพร", "ธีรยุทธ"],
  ["shift_jis", "email,name", "山口 健太", "石田 さくら", "藤本 浩"],
  ["euc-jp", "email,name", "山口 健太", "石田 さくら", "藤本 浩"],
  ["euc-jp", "氏名,メールアドレス", "渡部 篤", "新井 直子", "福田 満"],
  ["euc-jp", "email,name", "斉藤 修", "吉川 恵子", "三浦 翔"],
  ["euc-kr", "email,name", "홍길동", "이순신", "신사임당"],
  ["euc-kr", "이름,이메일", "고은비", "문재호", "유진아"],
  ["gbk", "email,name", "刘德华", "赵薇", "孙红雷"],
  [
    "gbk",
    "姓名,邮箱,公司",
    "钱学森,北京航空航天大学",
    "邓稼先,西北核技术研究所",
    "袁隆平,湖南杂交水稻研究中心",
  ],
  ["gb18030", "email,name", "刘德华", "赵薇", "孙红雷㐀"],
  ["big5", "email,name", "郭富城", "蔡依林", "周杰倫"],
  ["big5", "姓名,電子郵件", "吳宗憲", "張惠妹", "林志玲"],
];

/** The header and the names: in windows-1252 and in UTF-8. */
const WESTERN: readonly (readonly string[])[] = [
  ["Nº;email;nombre", "Mª Carmen", "Mª José", "Fco. Jª"],
  ["email;note", "……", "“”", "–—", "•·", "™®"],
  ["email;note", "m³", "5 m²", "½ €", "¿Qué?", "¡Hola!", "§§", "¿qué tal"],
  ["email;note", "“Foo”", "l’ami", "Bob‘s", "«oui»"],
  ["email;name", "Tõnu Õunapuu", "Kersti Põld", "Jõgi"],
  ["email;name", "Ayrton São"],
  ["email;name", "Peña"],
  ["email;name", "Bjørk"],
  ["email;name", "Crèche"],
  ["email;name", "Gonçalves"],
  ["email;name", "Þór"],
  ["email;name", "Müller-Lüdenscheidt"],
  ["email;name", "O’Connor", "D’Souza"],
  ["email;name", "ÿ", "Louÿs"],
  ["email;name", "Ðuro", "Ýmir"],

  ["email;name", "Jörg Großmann", "Bärbel Küster", "Jürgen Höß"],
  ["email;name", "Müller", "x", "y"],
  ["E-Mail;Vorname;Straße", "Günter;Königstraße 5", "Änne;Überseering 1", "Käthe;Maßweg"],
  [
    "email;prénom;nom",
    "Hélène;Lefèvre",
    "François;Bégaudeau",
    "Amélie;Crèvecœur",
    "Zoé;D’Été",
    "Joël;Guérin",
  ],
  ["Courriel;Prénom;Société", "Éloïse;Café de l’Opéra", "Théo;Évêché", "Maëlys;Hôtel Élysée"],
  ["email;nombre", "José Núñez", "María Peña", "Íñigo Güemes", "Begoña Ibáñez"],
  ["email;nombre", "Ángela Muñoz", "Ramón Ordóñez"],
  ["email;nome", "João Gonçalves", "Conceição Simões", "Antônio Araújo", "Inês Falcão"],
  ["email;nome", "Tomás Assunção", "Avelã Gusmão", "Nélson Évora"],
  ["email;navn", "Søren Kjærgård", "Bjørn Sæther", "Åse Østbø", "Pål Rød"],
  ["email;namn", "Åke Sjöström", "Märta Bäckman", "Östen Ågren"],
  ["email;nimi", "Päivi Hämäläinen", "Jyrki Mäkelä", "Väinö Töyrylä"],
  ["email;nafn", "Guðmundur Þórðarson", "Sigríður Ýrr", "Ragnheiður Ævarsdóttir", "Þorgerður Egilsdóttir"],
  ["email;nafn", "Bryndís Hlöðversdóttir", "Eyþór Arnalds", "Steinunn Þóra Árnadóttir"],
  ["email;nome", "Nicolò Calabrò", "Niccolò Carità", "Macrì"],
  ["email;città", "Forlì", "Cantù", "Città di Castello"],
  ["email;naam", "Daniël Coëlho", "Zoë Patiënt", "Noël België"],
  ["email;nom", "Mercè Òdena", "Núria Vilà", "Lluïsa Roselló"],
  ["email;name", "Jørgen Müller", "François Peña", "Zoë Løvgren"],
  ["email;name", "Zoë", "Anaïs", "Chloë"],
  ["email;name", "café – “spécial” … € 5", "naïve™", "résumé®"],
  ["email;name", "BJÖRN MÜLLER", "FRANÇOIS LEFÈVRE", "JOSÉ MUÑOZ"],
  ["email;price", "£5", "€7", "10°"],
  ["email;navn", "Jógvan Hørgarð", "Bárður Niclasen", "Høgni Øssursson"],
  ["email;name", "Renée", "Desirée", "André"],
  ["email;nom", "L’Haÿ-les-Roses", "Saint-Lô", "Fère-Champenoise", "Nîmes"],
  ["email;nome", "Lourenço", "Mourão", "Guimarães", "Magalhães", "Leitão"],
  ["email;navn", "Ø", "Å", "Æ"],
  ["email;name", "Seán Ó Súilleabháin", "Máire Ní Dhomhnaill", "Pádraig Ó Cléirigh"],
  ["email;name", "Gößwein", "Weißmüller", "Süß"],
  ["email;name", "Škoda", "Žižka", "Šimon"],
  ["email;emri", "Gëzim Krasniqi", "Shpëtim Hoxha", "Çelë"],
  ["email;name", "Acme®", "Foo©", "cm°"],
];

describe("the encoding of a list by its words", () => {
  for (const [encoding, ...list] of LEGACY)
    it(`is found: ${encoding}, ${list[1]}`, () => {
      // Where encodings have the same bytes for the whole text, any of them is right.
      for (const text of [listOf(list), longList(list)]) {
        const bytes = encodedIn(text, encoding);
        assert.ok(detectEncoding(bytes) !== undefined);
        assert.equal(textIn(bytes.toString("latin1"), detectEncoding(bytes)), text);
      }
    });

  for (const list of WESTERN)
    it(`stays windows-1252 or UTF-8: ${list[1]}`, () => {
      for (const text of [listOf(list), longList(list)]) {
        assert.equal(detectEncoding(encodedIn(text, "windows-1252")), undefined);
        assert.equal(detectEncoding(Buffer.from(text)), undefined);
      }
    });

  it("stays UTF-8 with a few older values", () => {
    const older = encodedIn("u@example.com;Παππάς\n", "windows-1253");
    const text = Buffer.from(listOf(["email;name", "Müller", "Gärtner", "Őri"]));
    assert.equal(detectEncoding(Buffer.concat([text, older])), undefined);
  });

  it("stays UTF-8 behind its byte order mark", () => {
    const older = encodedIn("email;name\na@example.com;Γιώργος Παππάς\n", "windows-1253");
    assert.equal(detectEncoding(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), older])), undefined);
  });

  it("gives the header its words", async () => {
    const text = "Πελάτης;Ηλεκτρονική διεύθυνση;Υπεύθυνος\nΓιώργος;a@example.com;b@example.org\n";
    const { found } = await analyseList(encodedIn(text, "windows-1253"));
    assert.ok(found.ok, JSON.stringify(found));
    assert.equal(found.columns.encoding, "windows-1253");
    assert.deepEqual(found.columns.email, {
      index: 1,
      name: "Ηλεκτρονική διεύθυνση",
      chosen_by: "header",
    });
  });

  it("is bounded for hostile bytes", () => {
    for (const bytes of [
      Buffer.alloc(262_144, 0xe4),
      Buffer.concat([Buffer.alloc(262_143, "a"), Buffer.from([10, 0xe4, 10])]),
      Buffer.from(Array.from({ length: 262_144 }, (_, at) => (at % 9 === 8 ? 10 : 128 + ((at * 31) % 128)))),
    ]) {
      const { user } = process.cpuUsage();
      detectEncoding(bytes);
      assert.ok(process.cpuUsage().user - user < 1_000_000);
    }
  });
});
