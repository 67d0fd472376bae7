// The environment is a promise to operators: names and defaults are pinned, and .env.example says the same.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONFIG_VARIABLES, parseConfig } from '../../src/config.ts';

const PINNED: Readonly<Record<string, string | undefined>> = {
  HOST: '127.0.0.1',
  PORT: '8080',
  DATABASE_URL: undefined,
  KEYBEARER_DATA_DIR: './data',
  KEYBEARER_PUBLIC_URL: undefined,
  KEYBEARER_MASTER_KEY: undefined,
  KEYBEARER_ADMIN_KEY: undefined,
  KEYBEARER_CONFIG: undefined,
  KEYBEARER_EGRESS_ALLOW: undefined,
  KEYBEARER_EGRESS_ALLOW_HTTP: 'false',
  KEYBEARER_EGRESS_PORTS: '443,8443',
  KEYBEARER_EGRESS_TRANSLATION: 'false',
  KEYBEARER_ALLOWED_HOSTS: undefined,
  KEYBEARER_ALLOWED_ORIGINS: undefined,
  KEYBEARER_TRUST_PROXY: undefined,
  KEYBEARER_ALLOW_LINK_SIGN_IN: 'false',
  KEYBEARER_IDLE_TIMEOUT_MS: '300000',
  KEYBEARER_LIST_DEADLINE_MS: '5000',
  KEYBEARER_SIGN_IN_WAIT_MS: '120000',
  KEYBEARER_MAX_CONNECTIONS_PER_TENANT: '2000',
  KEYBEARER_MAX_COMMANDS_PER_TENANT: '64',
  KEYBEARER_COMMAND_USER: undefined,
  KEYBEARER_REQUESTS_PER_SECOND_PER_TENANT: undefined,
  KEYBEARER_REQUESTS_PER_SECOND_PER_PRINCIPAL: undefined,
  KEYBEARER_WORKERS: '1',
  LOG_LEVEL: 'info',
};

const ENTRY = /^# (?<meaning>.+)\n#(?<name>[A-Z_]+)=(?<value>.*)$/gm;

describe('the environment', () => {
  it('has exactly the pinned names and defaults', () => {
    expect(Object.fromEntries(CONFIG_VARIABLES.map(({ name, default: fallback }) => [name, fallback]))).toEqual(PINNED);
  });

  it('is in .env.example, all of it, with the same defaults and meanings, and nothing else', () => {
    const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
    const entries = [...text.matchAll(ENTRY)].map(({ groups }) => ({ ...groups }));
    const expected = CONFIG_VARIABLES.map(({ name, default: fallback, otherwise, meaning }) => ({
      meaning: otherwise === undefined ? meaning : `${meaning} Default: ${otherwise}.`,
      name,
      value: fallback ?? '',
    }));
    expect(entries).toEqual(expected);
    // Whatever assigns something, commented out or not, was understood as an entry.
    expect(text.match(/^\s*#?\s*[A-Za-z_]+=/gm)).toHaveLength(expected.length);
  });

  it('gives with the defaults written out what it gives with nothing', () => {
    const written = Object.fromEntries(CONFIG_VARIABLES.map(({ name, default: fallback }) => [name, fallback ?? '']));
    expect(parseConfig(written)).toEqual(parseConfig({}));
  });
});
