// Which prompts and resources of a server are offered: what an admin listed, or all. What is not offered is, for
// agents, not there.
import { compileGlobs } from '../catalog/glob.ts';
import type { ItemKind } from '../catalog/list-kind.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';

interface Allowed {
  readonly prompt: (name: string) => boolean;
  readonly resource: (uri: string) => boolean;
}

const known = new WeakMap<UpstreamServer, Allowed>();
const everything = (): boolean => true;

function allowedOf(server: UpstreamServer): Allowed {
  let allowed = known.get(server);
  if (allowed === undefined) {
    const { promptsOnly, resourcesOnly } = server;
    allowed = {
      prompt: promptsOnly === undefined ? everything : compileGlobs(promptsOnly),
      resource: resourcesOnly === undefined ? everything : within(compileGlobs(resourcesOnly)),
    };
    known.set(server, allowed);
  }
  return allowed;
}

/** A server that resolves dots, in whatever disguise, would lead out of what the pattern seems to enclose. */
const within =
  (matches: (uri: string) => boolean) =>
  (uri: string): boolean =>
    matches(uri) && !UPWARDS.test(unescaped(uri));

const UPWARDS = /(?:^|[/\\])\.\.(?:[/\\?#;]|$)/;
const ESCAPE = /%([0-9a-f]{2})/gi;
/** An escape of an escape of an escape: no server unpacks more. */
const ROUNDS = 4;

function unescaped(uri: string): string {
  let text = uri;
  for (let round = 0; round < ROUNDS && text.includes('%'); round++)
    text = text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return text;
}

/** @param key the server's own name for it: a prompt's name, a resource's URI, a template's text */
export function isAllowed(server: UpstreamServer, kind: ItemKind, key: string): boolean {
  const { prompt, resource } = allowedOf(server);
  return kind === 'prompts' ? prompt(key) : resource(key);
}

/** Whether something of this kind may be left out of the server's own lists. */
export const isFiltered = ({ promptsOnly, resourcesOnly }: UpstreamServer, kind: ItemKind): boolean =>
  (kind === 'prompts' ? promptsOnly : resourcesOnly) !== undefined;

/** Whether an admin keeps anything of this server from agents, or wants to be asked about it. */
export const isRestricted = (server: UpstreamServer): boolean =>
  server.only !== undefined ||
  server.except.length > 0 ||
  server.promptsOnly !== undefined ||
  server.resourcesOnly !== undefined ||
  (server.gated !== undefined && server.gated !== false);
