// SPDX-License-Identifier: Apache-2.0
/**
 * The API server's audit log as a list of finished requests. It is evidence that no program under test can colour: who
 * asked for what, how, and what the answer was.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';

export interface AuditedRequest {
  readonly user: string;
  readonly userAgent: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  /** Only for patches of ServiceAccounts, and only if the body shows it (see `patchKindOf`). */
  readonly patch: PatchKind | undefined;
  readonly uri: string;
  /** Wall clock of the API server when the request arrived. */
  readonly receivedAtMs?: number;
}

/**
 * The audit log has no content type. A list is a JSON patch, directives such as `$setElementOrder` occur in strategic
 * merge patches only, a field manager with a whole object is an apply; a plain object may be merge or strategic.
 */
export type PatchKind = 'json' | 'merge' | 'strategic' | 'apply' | 'merge or strategic';

/** A place in the log; requests before it are of no interest. */
export interface AuditMark {
  readonly offset: number;
}

const auditStart: AuditMark = { offset: 0 };

/** Every request that has an answer, oldest first. */
export type AuditSource = () => readonly AuditedRequest[];

/** A log that is read on from where the last reading ended. */
export function auditLogSource(path: string): AuditSource {
  const known: AuditedRequest[] = [];
  let mark = auditStart;
  return () => {
    const { requests, mark: end } = readAudit(path, mark);
    mark = end;
    known.push(...requests);
    return known;
  };
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp?: string;
  readonly user?: { readonly username?: string };
  readonly userAgent?: string;
  readonly objectRef?: Partial<Record<'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
}

export function readAudit(path: string, from: AuditMark = auditStart): { requests: AuditedRequest[]; mark: AuditMark } {
  if (!existsSync(path)) return { requests: [], mark: from };
  const bytes = readFrom(path, from.offset);
  // The last line may be half written.
  const end = bytes.lastIndexOf(0x0a) + 1;
  const lines = bytes.subarray(0, end).toString('utf8').split('\n');
  const requests: AuditedRequest[] = [];
  for (const line of lines) {
    if (line === '') continue;
    const event = JSON.parse(line) as AuditEvent;
    if (isFinal(event)) requests.push(toRequest(event));
  }
  return { requests, mark: { offset: from.offset + end } };
}

/** A watch is recorded when it begins and when it ends; it counts once, when it begins or is refused. */
function isFinal({ stage, verb, responseStatus }: AuditEvent): boolean {
  if (stage === 'ResponseStarted') return verb === 'watch';
  const refused = (responseStatus?.code ?? 0) >= 400;
  return stage === 'Panic' || (stage === 'ResponseComplete' && (verb !== 'watch' || refused));
}

function toRequest(event: AuditEvent): AuditedRequest {
  const received = event.requestReceivedTimestamp;
  const { apiGroup = '', resource = '', subresource = '', namespace = '', name = '' } = event.objectRef ?? {};
  return {
    user: event.user?.username ?? '',
    userAgent: event.userAgent ?? '',
    verb: event.verb,
    group: apiGroup,
    resource,
    subresource,
    namespace,
    name,
    code: event.responseStatus?.code ?? 0,
    patch: event.verb === 'patch' ? patchKindOf(event) : undefined,
    uri: event.requestURI,
    ...(received !== undefined && { receivedAtMs: Date.parse(received) }),
  };
}

function patchKindOf({ requestObject, requestURI }: AuditEvent): PatchKind | undefined {
  if (requestObject === undefined || requestObject === null) return undefined;
  if (Array.isArray(requestObject)) return 'json';
  if (hasDirective(requestObject)) return 'strategic';
  const whole = Object.hasOwn(requestObject, 'apiVersion') && Object.hasOwn(requestObject, 'kind');
  return whole && requestURI.includes('fieldManager=') ? 'apply' : 'merge or strategic';
}

function hasDirective(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, entry]) => key.startsWith('$') || hasDirective(entry));
}

function readFrom(path: string, offset: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let position = offset; ;) {
      const chunk = Buffer.alloc(1 << 20);
      const length = readSync(file, chunk, 0, chunk.length, position);
      if (length === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, length));
      position += length;
    }
  } finally {
    closeSync(file);
  }
}
