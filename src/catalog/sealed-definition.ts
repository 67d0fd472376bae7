// Keeps literal secrets of a definition out of the table and out of every answer: in `headers`, `env` and the
// secrets of `credential.oauth` a text is stored as { "sealed": "<base64>" } and shown as { "sealed": true }.
import { ProxyError } from '../shared/errors.ts';
import { Secret } from '../shared/secret.ts';
import { isJsonObject } from '../wire/reply.ts';

/** Gives base64. `path`, such as `headers.x-team`, and where the definition leads are bound into what is sealed. */
export type Seal = (path: string, value: string, destination: string) => Promise<string>;
export type Open = (path: string, sealed: string, destination: string) => Promise<Secret | string>;

type Members = Readonly<Record<string, unknown>>;
type Replace = (path: string, value: unknown) => Promise<unknown>;

/**
 * For the table. { "sealed": true } keeps what `previous`, the stored definition, has at that path, but only
 * while the server stays where it is: a kept secret must not follow an edited URL to somebody else.
 */
export async function sealDefinition(definition: unknown, previous: unknown, seal: Seal): Promise<unknown> {
  const stored = secretsIn(previous);
  const destination = destinationOf(definition);
  const moved = destination !== destinationOf(previous);
  return await replaceSecrets(definition, async (path, value) => {
    if (typeof value === 'string') return { sealed: await seal(path, value, destination) };
    if (!isSealed(value)) return value;
    const kept = stored.get(path);
    if (value.sealed !== true && !(isSealed(kept) && kept.sealed === value.sealed))
      throw refusal(path, 'send the value itself, or { "sealed": true } to keep it');
    if (kept === undefined || (isSealed(kept) && kept.sealed === true))
      throw refusal(path, 'nothing is stored there that could be kept');
    if (moved) throw refusal(path, 'the server has moved, so send the value again');
    return typeof kept === 'string' ? { sealed: await seal(path, kept, destination) } : kept;
  });
}

/** For rows written by hand: seals what is literal and leaves everything else as it is, whatever it is. */
export async function sealLiterals(definition: unknown, seal: Seal): Promise<unknown> {
  const destination = destinationOf(definition);
  return await replaceSecrets(definition, async (path, value) =>
    typeof value === 'string' ? { sealed: await seal(path, value, destination) } : value,
  );
}

/** For `parseDefinition`: sealed values are texts again. What `open` refuses rises from here. */
export async function openDefinition(definition: unknown, open: Open): Promise<unknown> {
  const destination = destinationOf(definition);
  return await replaceSecrets(definition, async (path, value) => {
    if (!isSealed(value) || typeof value.sealed !== 'string') return value;
    const opened = await open(path, value.sealed, destination);
    return opened instanceof Secret ? opened.reveal() : opened;
  });
}

/** Gives the new text, or undefined where it may stay. */
export type Reseal = (path: string, sealed: string, destination: string) => Promise<string | undefined>;

/** For the rotation of keys: the same secrets sealed anew; undefined when all of it may stay as it is. */
export async function resealDefinition(definition: unknown, reseal: Reseal): Promise<unknown> {
  const destination = destinationOf(definition);
  let isNew = false;
  const resealed = await replaceSecrets(definition, async (path, value) => {
    if (!isSealed(value) || typeof value.sealed !== 'string') return value;
    const text = await reseal(path, value.sealed, destination);
    if (text === undefined) return value;
    isNew = true;
    return { sealed: text };
  });
  return isNew ? resealed : undefined;
}

/** For showing. Rows written by hand may hold anything in these places, so anything there is covered. */
export function maskDefinition(definition: unknown): unknown {
  if (!isJsonObject(definition)) return definition;
  return mapMembers(definition, { headers: maskMap, env: maskMap, credential: maskCredential });
}

/** Somebody wrote a secret into the row by hand, and it should be sealed. */
export function hasLiteralSecrets(definition: unknown): boolean {
  return [...secretsIn(definition).values()].some((value) => typeof value === 'string');
}

function isSealed(value: unknown): value is { readonly sealed: unknown } {
  return isJsonObject(value) && Object.hasOwn(value, 'sealed');
}

function refusal(path: string, why: string): ProxyError {
  return new ProxyError('invalid_request', `The secret at ${path} cannot be kept: ${why}.`, { data: { path } });
}

/** Header names are the same in any case, and so is their path. */
function pathOf(map: 'headers' | 'env', name: string): string {
  return `${map}.${map === 'headers' ? name.toLowerCase() : name}`;
}

const OAUTH_SECRETS = ['clientSecret', 'initialAccessToken'] as const;

const oauthPath = (name: (typeof OAUTH_SECRETS)[number]): string => `credential.oauth.${name}`;

function secretsIn(definition: unknown): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  if (!isJsonObject(definition)) return found;
  for (const map of ['headers', 'env'] as const) {
    const members = definition[map];
    if (isJsonObject(members)) for (const [name, value] of Object.entries(members)) found.set(pathOf(map, name), value);
  }
  const oauth = oauthOf(definition);
  for (const name of OAUTH_SECRETS) if (oauth?.[name] !== undefined) found.set(oauthPath(name), oauth[name]);
  return found;
}

function oauthOf(definition: Members): Members | undefined {
  const credential = definition['credential'];
  const oauth = isJsonObject(credential) ? credential['oauth'] : undefined;
  return isJsonObject(oauth) ? oauth : undefined;
}

async function replaceSecrets(definition: unknown, replace: Replace): Promise<unknown> {
  if (!isJsonObject(definition)) return definition;
  const replaced = new Map<string, unknown>();
  for (const [path, value] of secretsIn(definition)) replaced.set(path, await replace(path, value));
  const fill = (map: 'headers' | 'env') => (value: unknown) =>
    isJsonObject(value) ? mapAll(value, (name) => replaced.get(pathOf(map, name))) : value;
  const credential = (value: unknown): unknown =>
    within(value, 'oauth', (oauth) => withOauthSecrets(oauth, (name) => replaced.get(oauthPath(name))));
  return mapMembers(definition, { headers: fill('headers'), env: fill('env'), credential });
}

/** Where this definition's secrets go. Text is enough: another spelling only means typing the secret again. */
function destinationOf(definition: unknown): string {
  if (!isJsonObject(definition)) return '';
  const { url } = definition;
  const origin = typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : url;
  const oauth = oauthOf(definition);
  return JSON.stringify([
    origin ?? null,
    definition['command'] ?? null,
    oauth?.['issuer'] ?? null,
    oauth?.['tokenEndpoint'] ?? null,
  ]);
}

const MASK = { sealed: true } as const;

function maskMap(value: unknown): unknown {
  if (value === null) return value;
  return isJsonObject(value) ? mapAll(value, () => MASK) : MASK;
}

function maskCredential(value: unknown): unknown {
  if (value === null) return value;
  if (!isJsonObject(value)) return MASK;
  return within(value, 'oauth', (oauth) =>
    isJsonObject(oauth) || oauth === null ? withOauthSecrets(oauth, () => MASK) : MASK,
  );
}

function withOauthSecrets(oauth: unknown, change: (name: (typeof OAUTH_SECRETS)[number]) => unknown): unknown {
  return OAUTH_SECRETS.reduce((changed, name) => within(changed, name, () => change(name)), oauth);
}

function within(value: unknown, name: string, change: (member: unknown) => unknown): unknown {
  return isJsonObject(value) ? mapMembers(value, { [name]: change }) : value;
}

/** A copy with the named members changed where they exist; `fromEntries` cannot be led into a prototype. */
function mapMembers(members: Members, changes: Readonly<Record<string, (value: unknown) => unknown>>): Members {
  return mapAll(members, (name, value) => (Object.hasOwn(changes, name) ? changes[name]?.(value) : value));
}

function mapAll(members: Members, change: (name: string, value: unknown) => unknown): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(name, value)]));
}
