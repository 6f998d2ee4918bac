// SPDX-License-Identifier: Apache-2.0
/**
 * Refusals: every answer other than success, as the `Status` object that a real API server sends, with its wording,
 * reason, code and details. Thrown inside the fake server and turned into an HTTP answer in one place.
 */
import type { Resource } from '../../src/api/resource.ts';

export interface FieldCause {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate';
  /** Without the field name in front. */
  readonly message: string;
  readonly field: string;
}

export interface RefusalFacts {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: object;
  /** Fields for the Status object's own metadata (a fresh continue token). */
  readonly metadata?: object;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly facts: RefusalFacts;
  constructor(facts: RefusalFacts) {
    super(facts.message);
    this.facts = facts;
  }
}

export function statusBody(facts: RefusalFacts): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: facts.metadata ?? {},
    status: 'Failure',
    message: facts.message,
    ...(facts.reason === '' ? {} : { reason: facts.reason }),
    ...(facts.details === undefined ? {} : { details: facts.details }),
    code: facts.code,
  };
}

export function successBody(resource: Resource, object: { readonly name: string; readonly uid: string }): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: object.name, ...groupOf(resource), kind: resource.plural, uid: object.uid },
  };
}

/** `volumeattachments.storage.k8s.io`, `persistentvolumes`. */
export function qualified(resource: Resource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function groupOf(resource: Resource): { readonly group?: string } {
  return resource.group === '' ? {} : { group: resource.group };
}

function about(resource: Resource, name: string): object {
  return { ...nameOf(name), ...groupOf(resource), kind: resource.plural };
}

function nameOf(name: string): { readonly name?: string } {
  return name === '' ? {} : { name };
}

export function notFound(resource: Resource, name: string): Refusal {
  const message = `${qualified(resource)} "${name}" not found`;
  return new Refusal({ code: 404, reason: 'NotFound', message, details: about(resource, name) });
}

/** A path that names nothing this server serves. A server with an unknown group answers in plain text, see `server.ts`. */
export function noSuchPath(): Refusal {
  const message = 'the server could not find the requested resource';
  return new Refusal({ code: 404, reason: 'NotFound', message, details: {} });
}

export function alreadyExists(resource: Resource, name: string): Refusal {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new Refusal({ code: 409, reason: 'AlreadyExists', message, details: about(resource, name) });
}

export function conflict(resource: Resource, name: string, why: string = staleObject): Refusal {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new Refusal({ code: 409, reason: 'Conflict', message, details: about(resource, name) });
}

const staleObject = 'the object has been modified; please apply your changes to the latest version and try again';

export function forbidden(resource: Resource, name: string, why: string): Refusal {
  const which = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const message = `${which} is forbidden: ${why}`;
  return new Refusal({ code: 403, reason: 'Forbidden', message, details: about(resource, name) });
}

export function badRequest(message: string): Refusal {
  return new Refusal({ code: 400, reason: 'BadRequest', message });
}

export function invalid(resource: Resource, name: string, causes: readonly FieldCause[]): Refusal {
  const lines = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const kind = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new Refusal({
    code: 422,
    reason: 'Invalid',
    message: `${kind} "${name}" is invalid: ${list}`,
    details: { ...nameOf(name), ...groupOf(resource), kind: resource.kind, causes },
  });
}

/** Optimistic locking that the kind demands and the request lacks; worded by plural name, unlike other invalid fields. */
export function missingVersion(resource: Resource, name: string): Refusal {
  const cause = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
  const message = `${qualified(resource)} "${name}" is invalid: ${cause.field}: ${cause.message}`;
  return new Refusal({ code: 422, reason: 'Invalid', message, details: { ...about(resource, name), causes: [cause] } });
}

/** A failure that the real server did not classify. */
export function internal(message: string): Refusal {
  return new Refusal({ code: 500, reason: '', message });
}

/** None of the types that the request accepts. */
export function notAcceptable(): Refusal {
  const message =
    'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
  return new Refusal({ code: 406, reason: 'NotAcceptable', message });
}

/** A patch that is well formed but cannot be applied (a failed `test`, a missing path). */
export function unprocessablePatch(): Refusal {
  const message = 'the server rejected our request due to an error in our request';
  return new Refusal({ code: 422, reason: 'Invalid', message, details: {} });
}

/** Built-in kinds refuse a media type that is no patch at all in these words. */
export function noPatchType(): Refusal {
  return new Refusal({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
}

export function unsupportedMediaType(accepted: readonly string[]): Refusal {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new Refusal({ code: 415, reason: 'UnsupportedMediaType', message });
}

export function methodNotAllowed(): Refusal {
  const message = 'the server does not allow this method on the requested resource';
  return new Refusal({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}

export function expired(message: string, metadata?: object): Refusal {
  return new Refusal({ code: 410, reason: 'Expired', message, ...(metadata === undefined ? {} : { metadata }) });
}

export function tooLargeResourceVersion(asked: number, current: number): Refusal {
  return new Refusal({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

export const required = (field: string, detail: string = ''): FieldCause => ({
  reason: 'FieldValueRequired',
  field,
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
});

export const invalidValue = (field: string, value: unknown, detail: string): FieldCause => ({
  reason: 'FieldValueInvalid',
  field,
  message: `Invalid value: ${JSON.stringify(value ?? null)}: ${detail}`,
});

export const forbiddenField = (field: string, detail: string): FieldCause => ({
  reason: 'FieldValueForbidden',
  field,
  message: `Forbidden: ${detail}`,
});

export const unsupported = (field: string, value: unknown, supported: readonly string[]): FieldCause => ({
  reason: 'FieldValueNotSupported',
  field,
  message: `Unsupported value: ${JSON.stringify(value ?? null)}: supported values: ${supported.map((s) => `"${s}"`).join(', ')}`,
});
