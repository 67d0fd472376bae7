// One route of the admin API as data: what express mounts and what the OpenAPI document is compared with.
import type { Tenant } from '../identity/tenant-store.ts';
import type { Admin } from './admit.ts';

export interface AdminRequest {
  readonly admin: Admin;
  /** A part of the path, decoded. */
  readonly param: (name: string) => string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface TenantRequest extends AdminRequest {
  /** The one in the path; it exists, and this admin may see it. */
  readonly tenant: Tenant;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As in OpenAPI: `/tenants/{tenant}/servers/{name}`. */
  readonly path: string;
  /** A post that says everything by its address; a body is not read. */
  readonly takesNoBody?: true;
}

export interface OperatorRoute extends Route {
  readonly access: 'operator';
  readonly handle: (request: AdminRequest) => Promise<Answer>;
}

/** Open to the operator and to admins of the tenant in the path. */
export interface TenantRoute extends Route {
  readonly access: 'tenant';
  readonly handle: (request: TenantRequest) => Promise<Answer>;
}

export type AdminRoute = OperatorRoute | TenantRoute;

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const done: Answer = { status: 204 };

/** JSON has no Date; everything that has a time shows it in this form. */
export function toTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : new Date(epochMs).toISOString();
}
