#!/usr/bin/env node
// Start here: read the environment, start the database and the app, stop them on a signal.
import './young-objects.ts';
import { readFileSync } from 'node:fs';
import { LINK_ALONE_REFUSED } from './admin/connect-links.ts';
import { startApp } from './app.ts';
import type { App } from './app-options.ts';
import { isAnythingWrapped } from './app-vault.ts';
import { type OperatorFile, parseOperatorFile } from './catalog/operator-file.ts';
import { watchOperatorFile } from './catalog/operator-file-watch.ts';
import { type Config, ConfigError, parseConfig } from './config.ts';
import { openKeyFile } from './credential/key-file.ts';
import type { KeyProvider } from './credential/key-provider.ts';
import { createStaticKeyProvider } from './credential/local-keys.ts';
import { databaseTrouble } from './database-trouble.ts';
import {
  DEFAULT_TENANT,
  ensureTenant,
  firstAgentKey,
  hasLinkTenant,
  keepAdminKey,
  keepMasterKey,
} from './installation.ts';
import { systemClock } from './shared/clock.ts';
import { Lifecycle } from './shared/lifecycle.ts';
import { createLogger, describeError, type Logger } from './shared/logger.ts';
import type { Secret } from './shared/secret.ts';
import { StartError, startTrouble } from './start-trouble.ts';
import { createAgentKeyStore } from './store/agent-keys.ts';
import { type Database, openDatabase } from './store/database.ts';
import { startEmbeddedPostgres } from './store/embedded.ts';
import { migrate } from './store/migrate.ts';
import { requireRowSecurity } from './store/row-security.ts';
import { warnOfStrongLogin } from './store/strong-login.ts';
import { createTenantStore } from './store/tenants.ts';
import { tryPort } from './try-port.ts';
import { welcomeText } from './welcome.ts';

const USAGE = 'usage: keybearer [serve|migrate]';
const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
  .version;

/** Everything that has to be there before the app can be built; `alone` where the data directory may be nobody else's. */
async function prepare(
  config: Config,
  life: Lifecycle,
  logger: Logger,
  { alone = false } = {},
): Promise<{ databaseUrl: string; masterKeys: KeyProvider; adminKey: Secret; isEmbedded: boolean }> {
  const { dataDir } = config;
  const isEmbedded = config.database.url === undefined;
  let databaseUrl = config.database.url?.reveal() ?? '';
  if (isEmbedded) {
    process.stderr.write('Starting the embedded PostgreSQL…\n');
    const embedded = await startEmbeddedPostgres({ dataDir, logger, alone });
    life.onClose('embedded database', () => embedded.stop());
    databaseUrl = embedded.url;
  }
  try {
    await migrate(databaseUrl, logger);
    await withDatabase(databaseUrl, logger, requireRowSecurity);
    // Of the embedded database the one user is the owner, and nobody else reaches it.
    if (!isEmbedded) await withDatabase(databaseUrl, logger, (database) => warnOfStrongLogin(database, logger));
  } catch (error) {
    throw new StartError(`The database cannot be used: ${databaseTrouble(error)}. See DATABASE_URL.`, { cause: error });
  }
  const masterKeys = await openMasterKeys(config, databaseUrl, life, logger);
  const adminKey = config.admin.key ?? (await keepAdminKey(dataDir)).secret;
  return { databaseUrl, masterKeys, adminKey, isEmbedded };
}

/** From the environment as they are, or from the file in the data directory, which is read again when it changes. */
async function openMasterKeys(
  { vault, dataDir }: Config,
  databaseUrl: string,
  life: Lifecycle,
  logger: Logger,
): Promise<KeyProvider> {
  if (vault.masterKeys !== undefined) return createStaticKeyProvider(vault.masterKeys.map((key) => key.reveal()));
  const path = await keepMasterKey(dataDir, () => withDatabase(databaseUrl, logger, isAnythingWrapped));
  const keys = await openKeyFile({ path, clock: systemClock, logger });
  life.onClose('master keys', () => keys.close());
  return keys;
}

/** One connection, for what the start has to know or to make. */
async function withDatabase<T>(url: string, logger: Logger, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, maxConnections: 1, clock: systemClock, logger });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function makeFirstKey(database: Database): Promise<Secret | undefined> {
  await ensureTenant(createTenantStore(database), DEFAULT_TENANT);
  return firstAgentKey(createAgentKeyStore(database), DEFAULT_TENANT, systemClock);
}

async function warnOfLinks(database: Database, logger: Logger): Promise<void> {
  if (!(await hasLinkTenant(createTenantStore(database)))) return;
  logger.warn(LINK_ALONE_REFUSED);
  process.stderr.write(`${LINK_ALONE_REFUSED}\n`);
}

async function serve(config: Config, logger: Logger, life: Lifecycle): Promise<void> {
  // What is wrong in the settings is said before the database is started.
  if (config.http.port !== 0) await tryPort(config.http.host, config.http.port);
  const running: { app?: App } = {};
  let file: OperatorFile | undefined;
  if (config.operatorFile !== undefined) {
    const watch = await watchOperatorFile({
      path: config.operatorFile,
      parse: (text) => parseOperatorFile(text, process.env),
      clock: systemClock,
      onChange: (result) => {
        if (!result.ok) {
          logger.error({ problems: result.problems }, 'the operator file does not hold; its last good version stays');
          return;
        }
        const before = file?.tenant;
        file = result.file;
        for (const tenantId of new Set([before, file.tenant]))
          if (tenantId !== undefined) void running.app?.refresh(tenantId).catch(() => undefined);
      },
    });
    life.onClose('operator file', () => watch.close());
    if (!watch.first.ok)
      throw new ConfigError(watch.first.problems.map(({ path, message }) => `KEYBEARER_CONFIG ${path}: ${message}`));
    file = watch.first.file;
  }
  const { databaseUrl, masterKeys, adminKey, isEmbedded } = await prepare(config, life, logger, { alone: true });
  // The tenant that the operator's file names is made when it is not there.
  const fileTenant = file?.tenant;
  if (fileTenant !== undefined)
    await withDatabase(databaseUrl, logger, (database) => ensureTenant(createTenantStore(database), fileTenant));
  const app = await startApp({
    version,
    databaseUrl,
    http: config.http,
    masterKeys,
    adminKey,
    egress: config.egress,
    limits: config.limits,
    allowLinkSignIn: config.allowLinkSignIn,
    operatorFile: () => file,
    dataDir: config.dataDir,
    commandUser: config.commandUser,
    parentEnv: process.env,
    clock: systemClock,
    logger,
  });
  running.app = app;
  life.onClose('app', () => app.stop());
  // Last, so that a key is never made and then not shown.
  const agentKey = isEmbedded ? await withDatabase(databaseUrl, logger, makeFirstKey) : undefined;
  logger.info({ url: app.url, publicUrl: app.publicUrl, version }, 'ready');
  process.stderr.write(
    `\n${welcomeText({ publicUrl: app.publicUrl, adminKeyFile: config.admin.key === undefined ? `${config.dataDir}/admin.key` : undefined, adminKey: adminKey.reveal(), agentKey: agentKey?.reveal() })}\n`,
  );
  if (!app.linkSignInAllowed) await withDatabase(databaseUrl, logger, (database) => warnOfLinks(database, logger));
}

/** First signal: stop in order. Second: end at once. */
function stopOnSignal(life: Lifecycle, logger: Logger): void {
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    logger.info({ signal }, 'stopping');
    life.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ error: describeError(error) }, 'not everything closed cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** As Node would, but for what it prints: the whole error, with whatever a library quotes in it (T23). */
function endOnUncaught(logger: Logger): void {
  process.on('uncaughtException', (error: unknown) => {
    logger.error({ error: describeError(error) }, 'ended by an error that nobody caught');
    process.exit(1);
  });
}

async function main(): Promise<void> {
  const command = process.argv[2] ?? 'serve';
  if (command !== 'serve' && command !== 'migrate') {
    process.stderr.write(`${USAGE}\n`);
    process.exit(2);
  }
  const config = parseConfig(process.env);
  const logger = createLogger(config.logLevel);
  const life = new Lifecycle();
  stopOnSignal(life, logger);
  endOnUncaught(logger);
  try {
    if (command === 'serve') await serve(config, logger, life);
    else {
      await prepare(config, life, logger);
      await life.close();
      process.exit(0);
    }
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${startTrouble(error)}\n`);
  process.exit(1);
});
