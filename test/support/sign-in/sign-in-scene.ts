// Signing in from end to end: an MCP server with its authorization server in a tenant of a scene, and the
// person's walk from the agent's link to the page that says it is done.
import type { RawAgent } from '../agents/raw-agent.ts';
import type { Era, Scene, TenantSide } from '../scene.ts';
import { linkIn } from '../sign-in.ts';
import type { JsonObject } from '../upstreams/message.ts';
import type { AsOptions } from './as-options.ts';
import { Browser, type Page } from './browser-jar.ts';
import type { GuardedMcpOptions } from './guard-options.ts';
import { type GuardedMcp, startGuardedMcp } from './guarded-mcp.ts';
import { type ScriptedAs, startScriptedAs } from './scripted-as.ts';

/** Each person signs in at the server's own authorization server. */
export const withOauth = (
  { url }: { readonly url: string },
  oauth: JsonObject = {},
  more: JsonObject = {},
): JsonObject => ({
  url,
  credential: { owner: 'principal', kind: 'oauth', ...(Object.keys(oauth).length === 0 ? {} : { oauth }) },
  ...more,
});

export interface SignInWorld {
  readonly as: ScriptedAs;
  readonly mcp: GuardedMcp;
  readonly tenant: TenantSide;
}

export interface SignInWishes {
  readonly as?: AsOptions;
  readonly mcp?: Partial<GuardedMcpOptions>;
  readonly oauth?: JsonObject;
  readonly definition?: JsonObject;
}

/** A tenant with one server, `notes`, that wants tokens. */
export async function signInWorld(scene: Scene, era: Era, wishes: SignInWishes = {}): Promise<SignInWorld> {
  const as = await scene.keep(startScriptedAs(wishes.as));
  const mcp = await scene.keep(startGuardedMcp({ era, tokens: as, ...wishes.mcp }));
  const tenant = await scene.tenant({ notes: withOauth(mcp, wishes.oauth, wishes.definition) });
  return { as, mcp, tenant };
}

export async function linkFrom(agent: RawAgent, server = 'notes'): Promise<string> {
  return linkIn(await agent.callTool(`${server}__connect`));
}

/** Opens the link and says yes: ends on the result page, or at the authorization server's own page where it has one. */
export async function confirm(link: string, browser = new Browser()): Promise<Page> {
  const page = await browser.open(link);
  if (page.status !== 200) throw new Error(`The link answered ${page.status}: ${page.text}`);
  return browser.submit();
}

/** How the page is titled that a sign-in ends on when all went well; the others answer 200 too. */
const CONNECTED = '<title>Connected</title>';

/** The whole walk; `as` names who signs in. Throws unless it ends well. */
export async function signIn(
  { as }: Pick<SignInWorld, 'as'>,
  agent: RawAgent,
  subject = 'ada',
  { server = 'notes', browser = new Browser() }: { readonly server?: string; readonly browser?: Browser } = {},
): Promise<Page> {
  as.settings.nextSubject = subject;
  const link = await linkFrom(agent, server);
  const arrived = await confirm(link, browser);
  const page =
    arrived.forms.length > 0 && arrived.url.startsWith(as.issuer)
      ? await browser.submit({ name: subject }, { button: 'yes' })
      : arrived;
  if (new URL(page.url).origin !== new URL(link).origin || !page.text.includes(CONNECTED))
    throw new Error(`The sign-in ended at ${page.url} with ${page.status}: ${page.text}`);
  return page;
}
