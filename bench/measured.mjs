// Loaded before a bench process: tells its CPU time when asked, and ends it with the bench.
process.on('message', (message) => {
  if (message === 'cpu') process.send(process.cpuUsage());
});
process.on('disconnect', () => process.exit());
process.channel.unref();
