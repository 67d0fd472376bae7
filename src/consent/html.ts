// HTML from templates in which every value is escaped; what `html` gave is the only text taken as it is.

export class Html {
  readonly #text: string;

  /** Only for `html` below. */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** Values may stand in text and in double-quoted attributes, nowhere else. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((text, part, index) => text + written(values[index - 1]) + part));
}

function written(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.toString();
  return typeof value === 'object' ? value.map(written).join('') : escaped(String(value));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function escaped(text: string): string {
  // NUL and its like have no place in a page
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '')
    .replace(/[&<>"'`]/g, (char) => ESCAPES[char] ?? '');
}
