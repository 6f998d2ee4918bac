// SPDX-License-Identifier: Apache-2.0
/**
 * Webhooks that the API server asks before it stores an object: a validating one allows or denies, a mutating one may change the object first.
 * Each is declared for one resource, and gets no other.
 *
 * | The handler | The answer |
 * |---|---|
 * | returns `allowed`, or `changed` | allowed, with a patch if the object differs |
 * | returns `denied` | denied, with its code, 403 by default |
 * | throws, or returns none of these | denied with 500 and the text, which is logged |
 * | is not called: the request is not one that was declared | denied with 400 |
 */
import { copyJson, parseJson, stringifyJson } from '../api/json.ts';
import type { KubeObject } from '../api/objects.ts';
import { silentLogger } from '../log/logger.ts';
import { type Declared, readRequest } from './admission-request.ts';
import { jsonPatch } from './json-patch.ts';
import { type Formats, jsonFormat, maxBodyBytes } from './media.ts';
import {
  isObject,
  type JsonObject,
  messageOf,
  readReview,
  textAnswer,
  unreadable,
  writtenReview,
} from './read-review.ts';
import type { AdmissionRequest, AdmissionResponse, AdmissionReview, Operation } from './reviews.ts';
import type { Mutation, Verdict } from './verdict.ts';
import type { ReviewAnswer, ReviewBody, ReviewPorts, Webhook } from './webhook.ts';

/** How the API server calls the webhook, where the defaults do not fit. */
export interface AdmissionConfiguration {
  /** What happens to requests while the webhook cannot be called; default `Fail`: they are denied. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** Default 10, at most 30. */
  readonly timeoutSeconds?: number;
  /** Default `None`. */
  readonly sideEffects?: 'None' | 'NoneOnDryRun';
  readonly matchPolicy?: 'Exact' | 'Equivalent';
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  /** Mutating webhooks have it; default `Never`. */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
}

export interface AdmissionSpec<T extends KubeObject, O extends Operation> extends Declared<T, O> {
  /** The name of the webhook, with at least three segments, lower case: `pages.websites.example.com`. */
  readonly name: string;
  /** Default: `/` and the name. */
  readonly path?: string;
  readonly configuration?: AdmissionConfiguration;
}

export interface ValidatingSpec<T extends KubeObject, O extends Operation> extends AdmissionSpec<T, O> {
  readonly validate: (request: AdmissionRequest<T, O>, ports: ReviewPorts) => Verdict | Promise<Verdict>;
}

export interface MutatingSpec<T extends KubeObject, O extends Exclude<Operation, 'DELETE'>> extends AdmissionSpec<
  T,
  O
> {
  /** Returns `changed(object)` with the whole object. The patch is computed. */
  readonly mutate: (request: AdmissionRequest<T, O>, ports: ReviewPorts) => Mutation<T> | Promise<Mutation<T>>;
}

export interface AdmissionWebhook extends Webhook {
  /** The answer to one request, as the API server gets it. For tests, which need no server. Never rejects. */
  readonly respond: (request: AdmissionRequest, ports?: ReviewPorts) => Promise<AdmissionResponse>;
}

/** Throws for a name that the API server does not take. */
export function validatingWebhook<T extends KubeObject, O extends Operation>(
  spec: ValidatingSpec<T, O>,
): AdmissionWebhook {
  return admissionWebhook('validating', spec, spec.validate);
}

/** Throws for a name that the API server does not take. */
export function mutatingWebhook<T extends KubeObject, O extends Exclude<Operation, 'DELETE'>>(
  spec: MutatingSpec<T, O>,
): AdmissionWebhook {
  return admissionWebhook('mutating', spec, spec.mutate);
}

/** An update of an object of the largest size that the API server accepts has it twice, as in controller-runtime. */
const formats: Formats = [jsonFormat(7 * 1024 * 1024)];
const maxValues = 350_000;
const { apiVersion, kind } = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' } as const;
/** A name that the API server takes: a subdomain of DNS with three segments. */
const qualified = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}$/;
/** No request waits for an answer of a function that a test calls. */
const alone: ReviewPorts = { logger: silentLogger, signal: new AbortController().signal };

type Handler<T extends KubeObject, O extends Operation> = (
  request: AdmissionRequest<T, O>,
  ports: ReviewPorts,
) => Mutation<T> | Promise<Mutation<T>>;

function admissionWebhook<T extends KubeObject, O extends Operation>(
  type: 'validating' | 'mutating',
  spec: AdmissionSpec<T, O>,
  handle: Handler<T, O>,
): AdmissionWebhook {
  const { name, path = `/${name}` } = spec;
  if (name.length > 253 || !qualified.test(name)) {
    throw new Error(`webhook name ${name}: it must have three segments or more, as in pages.websites.example.com`);
  }
  const respond = async (given: JsonObject, ports: ReviewPorts): Promise<AdmissionResponse> => {
    const { uid } = given as { readonly uid: string };
    const read = readRequest(given, spec);
    if ('failure' in read) return { uid, allowed: false, status: { code: 400, message: read.failure } };
    try {
      // What a handler gets to change is its own, so that a change of it in place is one as well.
      const own = type === 'mutating' ? { object: copyJson(read.request.object) } : {};
      const verdict = await handle({ ...read.request, ...own }, ports);
      return { uid, ...responseOf(verdict, read.request.object) };
    } catch (error) {
      // Most handlers end with their signal, and the answer is not waited for then.
      if (!ports.signal.aborted) ports.logger.error(error, 'Webhook failed', { webhook: name, uid });
      return { uid, allowed: false, status: { code: 500, message: messageOf(error) } };
    }
  };
  const answer = async (body: ReviewBody, ports: ReviewPorts): Promise<ReviewAnswer> => {
    const read = readReview(body, { apiVersion, kind, formats, maxValues });
    if ('refused' in read) return read.refused;
    const { uid } = read.request;
    if (typeof uid !== 'string' || uid === '') return textAnswer(400, 'the AdmissionReview has no UID');
    const response = await respond(read.request, ports);
    return writtenReview(read.format, { apiVersion, kind, response } satisfies AdmissionReview);
  };
  return {
    path,
    admission: { kind: type, path, entry: entryOf(spec) },
    maxBodyBytes: (contentType) => maxBodyBytes(formats, contentType),
    answer: (body, ports) => answer(body, ports).catch((error: unknown) => unreadable(body.body, error)),
    respond: (request, ports = alone) => respond(request as unknown as JsonObject, ports),
  };
}

function responseOf(verdict: Mutation<unknown>, before: unknown): Omit<AdmissionResponse, 'uid'> {
  // Handlers in JavaScript may return anything, and only what allows must allow.
  if (!isObject(verdict) || typeof verdict.allowed !== 'boolean') throw new Error('the webhook returned no verdict');
  const { warnings, auditAnnotations } = verdict;
  const remarks = { ...(warnings && { warnings }), ...(auditAnnotations && { auditAnnotations }) };
  if (!verdict.allowed) {
    const { message, code = 403, reason = code === 403 ? 'Forbidden' : undefined } = verdict;
    return { allowed: false, status: { code, message, ...(reason !== undefined && { reason }) }, ...remarks };
  }
  if (!('object' in verdict)) return { allowed: true, ...remarks };
  if (!isObject(verdict.object)) throw new Error('the webhook returned no object');
  // As the API server would read it: without undefined fields, dates as texts.
  const after = parseJson(Buffer.from(stringifyJson(verdict.object)));
  const operations = jsonPatch(before, after);
  if (operations.length === 0) return { allowed: true, ...remarks };
  const patch = Buffer.from(stringifyJson(operations)).toString('base64');
  return { allowed: true, patchType: 'JSONPatch', patch, ...remarks };
}

function entryOf<T extends KubeObject, O extends Operation>({
  name,
  resource,
  subresource,
  operations,
  configuration,
}: AdmissionSpec<T, O>): Readonly<Record<string, unknown>> {
  const { group, version, plural, namespaced } = resource;
  const rule = {
    apiGroups: [group],
    apiVersions: [version],
    resources: [subresource === undefined ? plural : `${plural}/${subresource}`],
    operations,
    scope: namespaced ? 'Namespaced' : 'Cluster',
  };
  const defaults = { sideEffects: 'None', failurePolicy: 'Fail', timeoutSeconds: 10 };
  return { name, admissionReviewVersions: ['v1'], ...defaults, ...configuration, rules: [rule] };
}
