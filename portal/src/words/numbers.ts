const GROUPED = new Intl.NumberFormat();

/** 1234567 as 1,234,567, by the reader's own custom. */
export const grouped = (value: number): string => GROUPED.format(value);

/** 1.25 as "1.3", with that many digits behind the point, by the reader's own custom. */
export const withDigits = (value: number, digits: number): string =>
  value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });

const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** 0.615 as "61.5%", by the reader's own custom. */
export const percent = (share: number): string => PERCENT.format(share);

/** 1 as "1 row", 1234 as "1,234 rows". @param many absent: `one` with an s */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${grouped(value)} ${value === 1 ? one : many}`;
