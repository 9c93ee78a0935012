const GROUPED = new Intl.NumberFormat();

/** 1234567 as 1,234,567, by the reader's own custom. */
export const grouped = (value: number): string => GROUPED.format(value);
