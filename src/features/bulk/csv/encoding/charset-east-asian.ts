/** Characters that are common in names of people, towns and columns. Kana and hangul of level one count besides. */
const SIMPLIFIED =
  "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文伟芳娜敏静秀英丽强磊军洋勇艳杰娟涛明超兰霞平刚桂华建国红玉梅春海燕晓丹雪琳玲慧鹏飞宇浩志欣怡子轩梓涵佳俊峰波辉斌鑫婷宁博思雨嘉新云莉莹姓名邮箱电子件地址话手机公司城市省区县路号客户备注编职位部门日期性别年龄男女中国北京上广州深圳天津重庆成都杭南联系人电有限技术责任";
const TRADITIONAL =
  "陳林黃張李王吳劉蔡楊許鄭謝郭洪曾邱廖賴周徐蘇葉莊江呂何羅高蕭潘朱簡鍾彭游詹胡施沈余趙盧梁顏柯孫魏翁戴范宋方鄧杜傅侯曹溫薛丁馬唐卓藍馮姚石董紀歐程連古汪湯田康鄒白涂尤巫韓龔嚴袁家豪志明俊傑建宏淑芬美玲雅婷怡君惠文雯惠如心佳穎欣偉芳華英秀珍麗娟國雄強輝玉梅春子宇軒承恩品妤宗翰冠廷哲瑋信義柏詩涵思宜靜慧敏琪萱姓名電子郵件信箱地址話手機公司城市縣區路號客戶備註編職位部門日期性別年齡男女中臺台北高雄香港聯絡人有限股份業務段巷樓";
const JAPANESE =
  "佐藤鈴木高橋田中伊渡辺山本村小林加吉松井清水口斎野崎森池阿部石川島前岡谷長近後坂遠青西福太三原竹内和上金大久保下平千葉菊地丸今新宮安河酒工横市杉須武柴一二郎次子美恵香奈真由紀智明子裕優翔蓮陽翼健介輔誠浩幸雄正男昭義弘隆博修学直樹樹之彦司進剛勝茂豊進哲也洋悠愛結花菜桜葵陽氏名姓前電話番号住所会社株式都道府県区町東京阪名古屋神戸札幌市備考部署役職顧客担当者郵便日生年月性別女";
const KOREAN =
  "김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구민진지나원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국은편용예경봉수영준서민예도윤하은우채빈혜미희숙자순호철훈태상재승동건규환식석종광형균찬범욱룡환란애슬아라린솔별빛름메일주소화번회사직급부담당객생년월성별여비고이전자우편휴대폰시군";

/** Characters of the text of a language in the encoding. Of equal ones the first counts. */
const EAST_ASIAN = [
  ["shift_jis", /[\u3000-\u30ff\u4e00-\u9fff]/g, `[${JAPANESE}\u3041-\u30fe]`],
  ["euc-jp", /[\u3000-\u30ff\u4e00-\u9fff]/g, `[${JAPANESE}\u3041-\u30fe]`],
  ["euc-kr", /[\uac00-\ud7a3]/g, `[${KOREAN}]`],
  ["gbk", /[\u3000-\u303f\uff00-\uff5e\u4e00-\u9fff]/g, `[${SIMPLIFIED}]`],
  ["gb18030", /[\u3000-\u303f\uff00-\uff5e\u3400-\u9fff]|[\ud840-\ud87f][\udc00-\udfff]/g, `[${SIMPLIFIED}]`],
  ["big5", /[\u3000-\u303f\uff00-\uff5e\u4e00-\u9fff]/g, `[${TRADITIONAL}]`],
] as const;
const COMMON = new Map(EAST_ASIAN.map(([encoding, , common]) => [encoding, new RegExp(common, "gu")]));

/** Minimum share of characters that are usual in the language. */
const USUAL_SHARE = 0.8;
/** Minimum share of common characters: names of people have half and more, text in the wrong encoding hardly any. */
const COMMON_SHARE = 0.15;
/** Small Latin letters touch few of them: those of "Škoda" touch a character that is two letters. */
const BESIDE_LATIN = /[a-z][^\0-\x7f]|[^\0-\x7f][a-z]/g;
const BESIDE_LATIN_SHARE = 0.3;
/** Fewer characters say nothing. */
const CHARACTERS_MIN = 3;
/** Bytes of the text that are read, from its first foreign character on. */
const TEXT_BYTES = 16_384;

/** The East Asian encoding in which the text is valid and has the most common characters. */
export function bestEastAsian(head: Buffer): { encoding: string; share: number } | undefined {
  const from = head.findIndex((byte) => byte > 0x7f);
  const bytes = head.subarray(from, from + TEXT_BYTES);
  let best: { encoding: string; share: number } | undefined;
  for (const [encoding, usual] of EAST_ASIAN) {
    const text = decoded(bytes, encoding);
    const foreign = text?.match(/[^\0-\x7f]/gu)?.length ?? 0;
    if (text === undefined || foreign < CHARACTERS_MIN) continue;
    if ((text.match(usual)?.length ?? 0) < USUAL_SHARE * foreign) continue;
    if ((text.match(BESIDE_LATIN)?.length ?? 0) > BESIDE_LATIN_SHARE * foreign) continue;
    const common = (text.match(COMMON.get(encoding) ?? usual)?.length ?? 0) / foreign;
    // Addresses and names of firms have more rare characters than names of people.
    const share = Math.min(1, 0.4 + common);
    if (common >= COMMON_SHARE && share > (best?.share ?? 0)) best = { encoding, share };
  }
  return best;
}

function decoded(bytes: Buffer, encoding: string): string | undefined {
  // The sample may end within a character, of GB18030 within its four bytes.
  for (const cut of [0, 1, 2, 3])
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, bytes.length - cut));
    } catch {}
  return undefined;
}
