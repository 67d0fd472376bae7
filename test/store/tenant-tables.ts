// Every table whose rows belong to a tenant, and what the service may do there. A test compares it with the database.

type Operation = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

const ALL: readonly Operation[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

export interface TenantTable {
  readonly name: string;
  /** The column that says whose the row is. */
  readonly tenant: 'id' | 'tenant_id';
  readonly may: readonly Operation[];
}

const of = (name: string, may = ALL): TenantTable => ({ name, tenant: 'tenant_id', may });

export const TENANT_TABLES: readonly TenantTable[] = [
  of('agent_keys', ['SELECT', 'INSERT', 'DELETE']),
  of('browser_sessions', ['SELECT', 'INSERT', 'DELETE']),
  of('browser_sign_ins'),
  of('catalogs'),
  of('credentials'),
  of('data_keys'),
  of('issuers'),
  of('oauth_clients'),
  of('renewals'),
  of('scope_needs'),
  of('servers'),
  of('sign_in_attempts'),
  { name: 'tenants', tenant: 'id', may: ALL },
  of('ticket_mismatches', ['SELECT', 'INSERT', 'UPDATE']),
  of('tickets'),
];
