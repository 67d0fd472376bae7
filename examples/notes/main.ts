// The sample server alone: npx tsx examples/notes/main.ts [port]
import { startNotes } from './notes-server.ts';

const notes = await startNotes(Number(process.argv[2] ?? 4010));
console.log(`Notes is an MCP server at ${notes.url}; people sign in on its own pages.`);
