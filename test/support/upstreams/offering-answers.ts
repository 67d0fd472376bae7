// How an offering server answers what it is asked beside its tools. Each answer says whose key the request came with.
import type { Exchange } from './keyed-exchange.ts';
import { pageOf } from './keyed-pages.ts';
import { objectAt } from './message.ts';
import { type Capability, type Offer, promptItem, resourceItem, templateItem } from './offering-items.ts';

export interface Offering {
  readonly offer: (principal: string) => Offer;
  readonly lacks: readonly Capability[];
  /** What a modern list or read says of how long it holds; JSON members that begin with a comma. */
  readonly cache: string;
  /** Methods of its own invention, and others that it answers in its own way. */
  readonly own: Readonly<Record<string, (exchange: Exchange) => void>>;
}

/** Stands at the end of each result. */
export const RESULT_TAIL =
  '"x-future":{"a":"\\u0000\\ud83d\\ude00","":1.0},"_meta":{"vendor/key":"kept","n":18446744073709551615}';

/** A server's own error, whatever it is asked for under a name or URI with this word in it. */
export const OWN_ERROR = { code: 4711, message: 'The ink is dry', data: { colour: 'blue', left: [0] } } as const;

/** Whose key a request came with, and which server says so. */
const signature = ({ asked: { principal, state } }: Exchange): string =>
  `who=${principal};at=${state.options.name ?? 'keyed'}`;

const names = (items: readonly string[], key: string): readonly unknown[] =>
  items.map((text) => (JSON.parse(text) as Record<string, unknown>)[key]);

/** Each expression stands for a run of anything but a slash, or of anything where its operator says so. */
function fits(template: string, uri: string): boolean {
  const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const parts = template.split(/(\{[^}]*\})/);
  const source = parts.map((part) => (!part.startsWith('{') ? literal(part) : /^\{[+#?&]/.test(part) ? '.*' : '[^/]+'));
  return new RegExp(`^${source.join('')}$`).test(uri);
}

const made = {
  prompts: (n: number, bytes: number) => promptItem(`page_${n}`, { description: 'x'.repeat(bytes) }),
  resources: (n: number, bytes: number) => resourceItem(`page://${n}`, { description: 'x'.repeat(bytes) }),
  resourceTemplates: (n: number) => templateItem(`page://${n}/{x}`),
} as const;

function list(exchange: Exchange, key: keyof typeof made, items: readonly string[], cache: string): void {
  const { state, message, era } = exchange.asked;
  const page = pageOf(state.settings.paging, items, message.params['cursor'], made[key]);
  if (page === undefined) return exchange.error(-32602, 'Unknown cursor');
  const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`;
  const held = era === 'modern' ? cache : '';
  exchange.result(`{"${key}":[${page.items.join(',')}]${next}${held},${RESULT_TAIL}}`);
}

/** True where the name itself says how to answer. */
function answeredByName(exchange: Exchange, name: string): boolean {
  const { params } = exchange.asked.message;
  if (name.includes('never')) return true;
  if (name.includes('broken')) {
    exchange.error(OWN_ERROR.code, OWN_ERROR.message, OWN_ERROR.data);
    return true;
  }
  if (!name.includes('asking') || params['inputResponses'] !== undefined) return false;
  exchange.result(
    '{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Which?",' +
      '"requestedSchema":{"type":"object","properties":{}}}}},"requestState":"st-1","x-future":1}',
  );
  return true;
}

function getPrompt(exchange: Exchange, offer: Offer): void {
  const { message } = exchange.asked;
  const { name } = message.params;
  if (typeof name !== 'string' || !names(offer.prompts, 'name').includes(name))
    return exchange.error(-32602, 'Unknown prompt', { name });
  if (answeredByName(exchange, name)) return;
  const text = `${signature(exchange)};prompt=${name};args=${JSON.stringify(message.params['arguments'] ?? {})}`;
  exchange.result(
    `{"description":"Filled in","messages":[{"role":"user","content":{"type":"text","text":${JSON.stringify(text)},"x-new":[1,null]}},` +
      `{"role":"assistant","content":{"type":"text","text":"ok"},"x-block":1}],${RESULT_TAIL}}`,
  );
}

function read(exchange: Exchange, offer: Offer, cache: string): void {
  const { message, era } = exchange.asked;
  const { uri } = message.params;
  const isKnown =
    typeof uri === 'string' &&
    (names(offer.resources, 'uri').includes(uri) ||
      names(offer.templates, 'uriTemplate').some((template) => fits(String(template), uri)));
  if (!isKnown) return exchange.error(era === 'modern' ? -32602 : -32002, 'Resource not found', { uri });
  if (answeredByName(exchange, uri)) return;
  const content = uri.startsWith('bin:')
    ? '"mimeType":"image/png","blob":"AAECAwT/"'
    : `"mimeType":"text/plain","text":${JSON.stringify(`${signature(exchange)};uri=${uri}`)}`;
  const held = era === 'modern' ? cache : '';
  exchange.result(`{"contents":[{"uri":${JSON.stringify(uri)},${content},"x-new":{"n":1.0}}]${held},${RESULT_TAIL}}`);
}

function complete(exchange: Exchange): void {
  const { message } = exchange.asked;
  const ref = objectAt(message.params, 'ref');
  const named = String(ref['name'] ?? ref['uri']);
  if (answeredByName(exchange, named)) return;
  const argument = objectAt(message.params, 'argument');
  const values = [
    signature(exchange),
    `ref=${named}`,
    `${String(argument['name'])}=${String(argument['value'])}`,
    `context=${JSON.stringify(message.params['context'] ?? null)}`,
  ];
  exchange.result(
    `{"completion":{"values":${JSON.stringify(values)},"total":4,"hasMore":false,"x-new":1},${RESULT_TAIL}}`,
  );
}

/** False for a method that this server does not have. */
export function answerOffer(exchange: Exchange, { offer, lacks, cache, own }: Offering): boolean {
  const { message, principal } = exchange.asked;
  const method = message.method ?? '';
  const has = (capability: Capability): boolean => !lacks.includes(capability);
  const offered = offer(principal);
  if (Object.hasOwn(own, method)) own[method]?.(exchange);
  else if (method === 'prompts/list' && has('prompts')) list(exchange, 'prompts', offered.prompts, cache);
  else if (method === 'prompts/get' && has('prompts')) getPrompt(exchange, offered);
  else if (method === 'resources/list' && has('resources')) list(exchange, 'resources', offered.resources, cache);
  else if (method === 'resources/templates/list' && has('resources'))
    list(exchange, 'resourceTemplates', offered.templates, cache);
  else if (method === 'resources/read' && has('resources')) read(exchange, offered, cache);
  else if (method === 'completion/complete' && has('completions')) complete(exchange);
  else return false;
  return true;
}
