// What the demo tells, step by step, in plain text.
import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, type AgentWishes, connectAgent } from './agent.ts';
import { signIn } from './person.ts';
import type { Product } from './product.ts';

export interface StoryOptions {
  readonly product: Pick<Product, 'url' | 'agentKey' | 'signInWaitMs'>;
  /** The demo plays the person too. */
  readonly playsPerson: boolean;
  readonly say: (text: string) => void;
}

const SERVERS = ['everything', 'filesystem', 'notes'] as const;
const FIRST_TOOLS_MS = 30_000;

const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '     ');
const linkIn = (text: string): string => /https?:\/\/\S+\/connect\/[\w-]+/.exec(text)?.[0] ?? '';

/** Cut short where nobody signs in, which the rest needs. */
export async function tellStory(options: StoryOptions): Promise<'whole' | 'cut short'> {
  const { say, product } = options;
  const alice = await connect(options, 'alice');
  try {
    say(`1. The agent of Alice connects to ${product.url}/mcp with one key, and asks what there is:\n`);
    say(indent(overview(await firstTools(alice))));
    await withoutSignIn(alice, say);
    if (!(await aliceSignsIn(alice, options))) return 'cut short';
    say('4. Now that somebody has signed in, the tools of Notes are there:\n');
    say(indent(overview(await alice.toolNames())));
    say("5. What Alice's agent does at Notes, it does as her. It never saw her token:\n");
    await callAndTell(alice, say, 'notes__write_note', { text: 'buy milk' });
    await callAndTell(alice, say, 'notes__list_notes');
  } finally {
    await alice.close();
  }
  return (await bobSignsIn(options)) ? 'whole' : 'cut short';
}

/** The first list may come before slow servers have answered. */
async function firstTools(agent: Agent): Promise<readonly string[]> {
  const end = performance.now() + FIRST_TOOLS_MS;
  for (;;) {
    const names = await agent.toolNames();
    if (SERVERS.every((server) => names.some((name) => name.startsWith(`${server}__`)))) return names;
    if (performance.now() > end) throw new Error(`Not every server answered; there are ${names.join(', ')}`);
    await pause(250);
  }
}

const SHOWN = 3;

function overview(names: readonly string[]): string {
  const lines = SERVERS.map((server) => {
    const own = names.filter((name) => name.startsWith(`${server}__`));
    const more = own.length > SHOWN ? `, and ${own.length - SHOWN} more` : '';
    return `${server.padEnd(12)} ${own.slice(0, SHOWN).join(', ')}${more}`;
  });
  return `${lines.join('\n')}\n`;
}

async function withoutSignIn(alice: Agent, say: (text: string) => void): Promise<void> {
  say('2. Servers that need no sign-in work at once:\n');
  await callAndTell(alice, say, 'everything__echo', { message: 'hello' });
}

/** An agent that can only read text: the tool gives the link, and waits when it is asked to. */
async function aliceSignsIn(alice: Agent, options: StoryOptions): Promise<boolean> {
  const { say, playsPerson } = options;
  say('3. Notes wants each person to sign in, so it offers one tool. The agent calls it and gets a link for Alice:\n');
  const link = linkIn(await alice.call('notes__connect'));
  say(indent(`${link}\n`));
  const call = (): Waiting => patiently(alice.call('notes__connect', { wait: true }));
  const waiting = call();
  say(indent('The agent calls it again with {"wait": true}, and that call waits.'));
  await play(link, 'alice', playsPerson, say);
  const answer = await signedIn(waiting, call, options);
  if (answer !== undefined) say(indent(`The call goes on by itself: ${answer}\n`));
  return answer !== undefined;
}

/** An agent that can show links: nothing has to be called twice. */
async function bobSignsIn(options: StoryOptions): Promise<boolean> {
  const { say, playsPerson } = options;
  say('6. The agent of Bob sees the same tools. It calls one of Notes, where Bob has not signed in yet:\n');
  let asked: (link: string) => void = () => undefined;
  const link = new Promise<string>((resolve) => (asked = resolve));
  const bob = await connect(options, 'bob', asked);
  try {
    const call = (): Waiting => patiently(bob.call('notes__list_notes'));
    const waiting = call();
    // If it fails before anybody is asked, that is what there is to tell.
    const found = await Promise.race([link, waiting.answer.then(linkIn)]);
    say(indent(`${found}\n`));
    say(indent('This agent can show links, so it was asked to show this one, and the call waits.'));
    await play(found, 'bob', playsPerson, say);
    const answer = await signedIn(waiting, call, options);
    if (answer !== undefined) say(indent(`The same call goes on by itself: ${answer}\n`));
    return answer !== undefined;
  } finally {
    await bob.close();
  }
}

/** How often one may decline before the story goes on without. */
const MAX_ANSWERS = 3;

/**
 * What the call brought once somebody had signed in. Where they decline, it is made again, since minds change; undefined
 * when they go on declining, or do not come at all. A call without its person is answered with the link.
 */
async function signedIn(
  first: Waiting,
  again: () => Waiting,
  { say, product }: StoryOptions,
): Promise<string | undefined> {
  let waiting = first;
  for (let answers = 1; ; answers++) {
    const answer = await waiting.answer;
    if (linkIn(answer) === '') return answer;
    say(indent(`Nobody has signed in, and the agent is told:\n  -> ${answer}\n`));
    const isTimeOver = performance.now() - waiting.since >= product.signInWaitMs;
    if (isTimeOver || answers === MAX_ANSWERS) break;
    waiting = again();
    say(indent('The agent has called once more, and that call waits: open this link to sign in after all.'));
  }
  say(
    indent('The rest of the story needs somebody who signs in: Ctrl-C and npm run demo tell it from the beginning.\n'),
  );
  return undefined;
}

interface Waiting {
  readonly since: number;
  readonly answer: Promise<string>;
}

/** Looked at later; if the story ends before that, how it failed is of no interest. */
function patiently(answer: Promise<string>): Waiting {
  answer.catch(() => undefined);
  return { since: performance.now(), answer };
}

/** Who signed in before is remembered by their browser. */
const browserFor = (name: string): string =>
  name === 'alice' ? 'a browser' : 'a private window (or press Sign out on a page of Alice first)';

async function play(link: string, name: string, playsPerson: boolean, say: (text: string) => void): Promise<void> {
  if (!playsPerson)
    return say(indent(`Open the link in ${browserFor(name)}, and sign in at Notes with any name (such as ${name}).`));
  await signIn(link, name);
  say(indent(`(The demo opened the link, confirmed, and signed in at Notes as ${name}.)`));
}

async function callAndTell(
  agent: Agent,
  say: (text: string) => void,
  tool: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  say(indent(`${tool} ${JSON.stringify(args)}\n  -> ${await agent.call(tool, args)}\n`));
}

function connect({ product }: StoryOptions, person: string, onLink?: AgentWishes['onLink']): Promise<Agent> {
  const wishes = { url: product.url, key: product.agentKey, person, signInWaitMs: product.signInWaitMs };
  return connectAgent(onLink === undefined ? wishes : { ...wishes, onLink });
}

/** For whoever wants to go on by hand. */
export async function tellByHand(options: StoryOptions): Promise<void> {
  const { product, say } = options;
  const { url, agentKey } = product;
  const carol = await connect(options, 'carol');
  const link = linkIn(await carol.call('notes__connect'));
  await carol.close();
  say(`Everything is still running. Try it by hand:

     Address      ${url}/mcp
     Agent key    ${agentKey}   (acts for whoever the header Keybearer-Principal names)

     KEY=${agentKey} node examples/agent.mjs ${url}/mcp

     claude mcp add --transport http keybearer ${url}/mcp \\
       --header "Authorization: Bearer ${agentKey}" --header "Keybearer-Principal: alice"

     Or sign in at Notes as a third person, Carol: ${link}
     This browser may still be signed in for somebody else: use a private window, or press Sign out.

Ctrl-C ends it; nothing is left behind.`);
}
