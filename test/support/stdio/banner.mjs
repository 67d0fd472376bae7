// Prints as many lines as its argument says before it serves.
for (let i = 0; i < Number(process.argv[2]); i++)
  console.log(i % 2 === 0 ? 'Welcome to my server!' : '{"level":"warn","msg":"not a message"}');
await import('./server.mjs');
