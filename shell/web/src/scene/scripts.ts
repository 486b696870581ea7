/** Cutting of a text into pieces that can be drawn one by one. */

export interface Piece {
  text: string;
  /** A picture in colours of its own (emoji), which has no outline to take a distance from. */
  colored: boolean;
}

/**
 * Scripts whose letters change their form or their order with their neighbours: Hebrew to Arabic
 * Extended-A, the Indic and South-East Asian blocks, Myanmar, Khmer, Mongolian, Tai, and the presentation
 * forms of Arabic and Hebrew, with marks of direction.
 */
const SHAPED = new RegExp(
  '[\\u0590-\\u109f\\u1780-\\u18af\\u1a20-\\u1aaf\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ua800-\\uabff' +
    '\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{11fff}\\u{1e800}-\\u{1efff}]',
  'u',
);
const COLORED =
  /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3|\p{Regional_Indicator}/u;
const SIMPLE = /^[\u0020-\u02ff]*$/;

const segments =
  typeof Intl.Segmenter === 'function' ? new Intl.Segmenter(undefined, { granularity: 'grapheme' }) : null;

/** Letters that are seen as one: a base with its marks, or the parts of an emoji. */
export function letters(text: string): string[] {
  if (SIMPLE.test(text)) return [...text];
  return segments ? Array.from(segments.segment(text), (part) => part.segment) : [...text];
}

/** Whether a text has to be drawn as a whole. */
export function isShaped(text: string): boolean {
  return SHAPED.test(text);
}

/** The pieces of a text in the order in which they are written: letters, or the whole where letters depend on
 * one another. */
export function pieces(text: string): Piece[] {
  const colored = (part: string): boolean => !SIMPLE.test(part) && COLORED.test(part);
  if (isShaped(text)) return [{ text, colored: colored(text) }];
  return letters(text).map((part) => ({ text: part, colored: colored(part) }));
}
