// A filled database for one run of the product: started, loaded, and gone soon after the product is.
//   node bench/prepare.mjs DIRECTORY PID     for product.sh, which reads DIRECTORY/env
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createLogger } from '../dist/shared/logger.js';
import { startEmbeddedPostgres } from '../dist/store/embedded.js';
import { migrate } from '../dist/store/migrate.js';
import { publicKeySet } from './keys.mjs';
import { loadFixture } from './load-fixture.mjs';

/** Gives the product's environment, and `stop` for the database. */
export async function prepare({ directory, fixture, pemPath }) {
  // PostgreSQL does not run as root, and its own user has to get through.
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o711);
  const logger = createLogger('silent');
  const postgres = await startEmbeddedPostgres({ dataDir: join(directory, 'data'), logger, fsync: false });
  const masterKey = randomBytes(32).toString('base64');
  try {
    await migrate(postgres.url, logger);
    await loadFixture({ url: postgres.url, fixture, keySet: publicKeySet(pemPath), masterKey });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  const env = {
    DATABASE_URL: postgres.url,
    KEYBEARER_MASTER_KEY: masterKey,
    KEYBEARER_ADMIN_KEY: randomBytes(24).toString('base64url'),
    // The bench's servers are on this machine.
    KEYBEARER_EGRESS_ALLOW: '127.0.0.1',
    KEYBEARER_EGRESS_ALLOW_HTTP: 'true',
    LOG_LEVEL: 'silent',
  };
  return { env, stop: () => postgres.stop() };
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function main([directory, pid]) {
  const fixture = JSON.parse(readFileSync(process.env.BENCH_FIXTURE, 'utf8'));
  const { env, stop } = await prepare({ directory, fixture, pemPath: process.env.BENCH_JWT_PEM });
  const lines = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(join(directory, 'env.new'), lines.join(''), { mode: 0o600 });
  renameSync(join(directory, 'env.new'), join(directory, 'env'));
  while (isAlive(Number(pid))) await sleep(500);
  await stop();
  rmSync(directory, { recursive: true, force: true });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error);
    writeFileSync(join(process.argv[2], 'failed'), '');
    process.exit(1);
  });
}
