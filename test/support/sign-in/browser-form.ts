// The forms of a plain page, read as a browser would send them.

export interface Form {
  readonly action: string;
  readonly method: 'GET' | 'POST';
  readonly fields: readonly [string, string][];
  /** Names and values of its buttons, in order; the first is what Enter presses. */
  readonly buttons: readonly [string, string][];
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

export const decodeHtml = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(amp|lt|gt|quot));/gi, (_, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return decimal !== undefined ? String.fromCodePoint(Number(decimal)) : (entities[(name ?? '').toLowerCase()] ?? '');
  });

function attributesOf(tag: string): ReadonlyMap<string, string> {
  const found = tag.matchAll(/([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g);
  return new Map(
    [...found].slice(1).map(([, name = '', a, b, c]) => [name.toLowerCase(), decodeHtml(a ?? b ?? c ?? '')]),
  );
}

const isTicked = (at: ReadonlyMap<string, string>): boolean =>
  !['checkbox', 'radio'].includes(at.get('type') ?? '') || at.has('checked');

export function formsOf(html: string): readonly Form[] {
  return [...html.matchAll(/(<form\b[^>]*>)(.*?)<\/form>/gis)].map(([, open = '', inside = '']) => {
    const at = attributesOf(open);
    const inputs = [...inside.matchAll(/<input\b[^>]*>/gis)].map(([tag]) => attributesOf(tag));
    const buttons = [...inside.matchAll(/<button\b[^>]*>/gis)].map(([tag]) => attributesOf(tag));
    const isButton = (one: ReadonlyMap<string, string>): boolean => one.get('type') === 'submit';
    const pair = (one: ReadonlyMap<string, string>): [string, string] => [
      one.get('name') ?? '',
      one.get('value') ?? '',
    ];
    return {
      action: at.get('action') ?? '',
      method: at.get('method')?.toUpperCase() === 'POST' ? 'POST' : 'GET',
      fields: inputs.filter((one) => !isButton(one) && isTicked(one) && pair(one)[0] !== '').map(pair),
      buttons: [...inputs.filter(isButton), ...buttons].map(pair),
    };
  });
}
