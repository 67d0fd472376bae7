// A process of its own that starts the embedded database, says where it is, and waits to be killed.
import { createLogger } from '../../src/shared/logger.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded.ts';

const [, , dataDir = ''] = process.argv;
startEmbeddedPostgres({ dataDir, logger: createLogger('silent'), fsync: false }).then(
  ({ url, fresh }) => process.stdout.write(`${JSON.stringify({ url, fresh })}\n`),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
