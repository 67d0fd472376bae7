// What an offering server offers, as JSON text: with members that nobody knows and numbers that JavaScript cannot hold.
import type { JsonObject } from './message.ts';

export interface Offer {
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
  readonly templates: readonly string[];
}

export type Capability = 'prompts' | 'resources' | 'completions';

const KEPT =
  '"icons":[{"src":"data:image/png;base64,AAAA","mimeType":"image/png","sizes":["48x48"],"x-icon":1}],' +
  '"x-future":{"big":123456789012345678901234567890,"":[1.0,null]},' +
  '"_meta":{"vendor/kept":18446744073709551615}';

export const GREET =
  '{"name":"greet","title":"Greets somebody","description":"Says \\u0068ello","arguments":' +
  '[{"name":"who","title":"Who","description":"Whom","required":true,"x-argument":[1,null]},{"name":"how"}],' +
  `${KEPT}}`;

const annotations =
  '"annotations":{"audience":["user"],"priority":0.50,"lastModified":"2026-01-01T00:00:00Z","x-note":1}';

export const README =
  '{"uri":"file:///docs/readme.md","name":"readme","title":"Read me","description":"All of it","mimeType":' +
  `"text/markdown","size":12,${annotations},${KEPT}}`;

export const LOGO = '{"uri":"bin://logo","name":"logo","mimeType":"image/png"}';

/** No two readers of it agree what belongs to it, so it has to stay as it is. */
export const ODD_URI = 'odd://é/%2F/%2f?a=b&c=d+e#"x" {y}';

export const ITEM = `{"uriTemplate":"item://{id}/data","name":"item","title":"An item","mimeType":"text/plain",${annotations},${KEPT}}`;

export const OFFER: Offer = { prompts: [GREET], resources: [README, LOGO], templates: [ITEM] };

export const promptItem = (name: string, more: JsonObject = {}): string => JSON.stringify({ name, ...more });

export const resourceItem = (uri: string, more: JsonObject = {}): string =>
  JSON.stringify({ uri, name: uri.slice(0, 40), ...more });

export const templateItem = (uriTemplate: string): string => JSON.stringify({ uriTemplate, name: uriTemplate });
