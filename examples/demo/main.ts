// npm run demo: Keybearer, a sample server where people sign in, and two servers from npm, on this machine alone.
// It tells what an agent sees before and after, and stays up. --yes plays the person; --once ends after the story.
import { startNotes } from '../notes/notes-server.ts';
import { build, startProduct } from './product.ts';
import { tellByHand, tellStory } from './story.ts';

let isStopping = false;
const say = (text: string): void => {
  if (!isStopping) console.log(text);
};

const FLAGS = ['--yes', '--once'];
const flags = process.argv.slice(2);
if (!flags.every((flag) => FLAGS.includes(flag))) {
  console.error('Usage: npm run demo [-- --yes] [--once]');
  process.exit(2);
}

/** Resolves at the first Ctrl-C; a second one ends at once. */
const stopped = new Promise<'stopped'>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      say('\nStopping …');
      isStopping = true;
      resolve('stopped');
    });
});

const opened: { readonly close: () => Promise<void> }[] = [];

async function run(): Promise<'told'> {
  build();
  const notes = await startNotes();
  opened.push(notes);
  say(`Notes, a sample MCP server with its own sign-in pages, is at ${notes.url}`);
  say('Keybearer starts, with a database of its own (about 10 s) …');
  const starting = startProduct(notes.url);
  // Also when Ctrl-C comes before it is ready.
  opened.push({ close: async () => (await starting).close() });
  const product = await starting;
  say(`Keybearer is at ${product.url}\n`);
  const options = { product, playsPerson: flags.includes('--yes'), say };
  const told = await Promise.race([tellStory(options), product.ended]);
  if (flags.includes('--once')) {
    if (told === 'cut short') process.exitCode = 1;
    return 'told';
  }
  await tellByHand(options);
  return product.ended;
}

try {
  await Promise.race([run(), stopped]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  // What never started has nothing to close, and has been told of.
  for (const one of opened.reverse()) await one.close().catch(() => undefined);
}
// Of a story that was cut short, there is nothing left to tell.
process.exit();
