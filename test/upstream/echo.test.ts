// What a server repeats of what it was sent is gone from its message, and the message is still one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/shared/secret.ts';
import { jsonForms } from '../../src/shared/secret-forms.ts';
import { Echo } from '../../src/upstream/echo.ts';

const KEY = 'sk-live/4f+9a=Qz"7';
const echo = new Echo([new Secret(KEY)]);
const said = (value: unknown): string => echo.message(Buffer.from(JSON.stringify(value))).toString();

describe('a message', () => {
  it('that repeats nothing is the very same bytes', () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"sk-live is no key"}}');
    expect(echo.message(bytes)).toBe(bytes);
    const text = bytes.toString('latin1');
    expect(echo.event(text)).toBe(text);
  });

  it.each([
    ['as it is', KEY],
    ['in Base64', Buffer.from(`u:${KEY}`).toString('base64')],
    ['in base64url', Buffer.from(`${KEY}!`).toString('base64url')],
    ['percent-encoded', encodeURIComponent(KEY)],
    ['in hex', Buffer.from(KEY).toString('hex')],
    ['in JSON within the text', JSON.stringify({ authorization: `Bearer ${KEY}` })],
    ['in JSON within JSON within the text', JSON.stringify(JSON.stringify({ k: KEY }))],
  ])('loses the key %s', (_, text) => {
    const masked = said({ id: 1, result: { content: [{ type: 'text', text }], [text]: 1 } });
    expect(masked).toContain('[secret]');
    const { result } = JSON.parse(masked);
    expect(result.content[0].text).not.toContain('Qz');
    expect(JSON.stringify(result)).not.toContain(Buffer.from(KEY).toString('base64').slice(2, 20));
  });

  it.each(jsonForms(KEY))('loses the key as serialisers write it: %s', (written) => {
    const masked = echo.message(Buffer.from(`{"id":1,"error":{"code":-1,"message":"bad ${written}"}}`)).toString();
    expect(JSON.parse(masked)).toEqual({ id: 1, error: { code: -1, message: 'bad [secret]' } });
  });

  it('keeps its numbers, but for those that hold a key of digits', () => {
    const digits = new Echo([new Secret('12345678901')]);
    const json =
      '{"id":1,"result":{"n":12345678901,"m":-12345678901.5,"big":9007199254740993,"s":"no 12345678901 \\" 2"}}';
    expect(digits.message(Buffer.from(json)).toString()).toBe(
      '{"id":1,"result":{"n":"[secret]","m":"[secret]","big":9007199254740993,"s":"no [secret] \\" 2"}}',
    );
  });

  it('is masked in an event as in bytes, other characters unharmed', () => {
    const event = Buffer.from(JSON.stringify({ method: 'x', params: { m: `grüße ${KEY}` } })).toString('latin1');
    const masked = JSON.parse(Buffer.from(echo.event(event), 'latin1').toString());
    expect(masked).toEqual({ method: 'x', params: { m: 'grüße [secret]' } });
  });

  it('that is no JSON shows no key either', () => {
    for (const text of [`<h1>Bearer ${KEY}</h1>`, `{"broken: ${KEY}`, `{"a":"\\x ${KEY}"}`])
      expect(echo.message(Buffer.from(text)).toString()).not.toContain('sk-live');
  });

  it('of whatever content stays JSON with the same shape, and holds the key no more', () => {
    const key = fc
      .string({ unit: 'grapheme', minLength: 8, maxLength: 40 })
      .filter((text) => !'[secret]'.includes(text));
    fc.assert(
      fc.property(
        key,
        fc.string(),
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (value, before, behind, number) => {
          const message = { id: 1, result: { text: `${before}${value}${behind}`, number, list: [value, null] } };
          const bytes = new Echo([new Secret(value)]).message(Buffer.from(JSON.stringify(message)));
          const read = JSON.parse(bytes.toString());
          expect(Object.keys(read.result)).toEqual(['text', 'number', 'list']);
          expect(read.result.number).toBe(Number(JSON.stringify(number)));
          expect(read.result.list).toEqual(['[secret]', null]);
          expect(read.result.text).toContain('[secret]');
        },
      ),
    );
  });
});
