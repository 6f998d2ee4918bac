// SPDX-License-Identifier: Apache-2.0
/**
 * The ApiClient over a Transport. Here: what each verb sends and what its answer means. Not here: retries (`send.ts`), the
 * rate limit (`request-limiter.ts`), attempts and their deadlines (`attempt.ts`), answers as errors (`response.ts`),
 * credentials and connections (below the Transport).
 */
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { attempts } from './attempt.ts';
import type { ApiClient, CallOptions, DeleteOptions, ObjectRef, Patch, WriteOptions } from './client.ts';
import { ApiError, isStatus } from './errors.ts';
import { stringifyJson } from './json.ts';
import { readKeptPage } from './kept-page.ts';
import type { KubeObject } from './objects.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { createRequestLimiter, type RateLimit } from './request-limiter.ts';
import { collectionPath, listQuery, objectPath, requireNamespace, withQuery } from './resource-path.ts';
import type { Resource } from './resource.ts';
import { type Attempt, type Call, send } from './send.ts';
import { type Expected, readValue } from './response.ts';
import { throttleLog } from './throttle-log.ts';
import type { Transport, TransportRequest } from './transport.ts';
import { isKept, toListPage, withTypeMeta } from './type-meta.ts';
import { ended, type TracedWrite, writeSpans } from '../tracing/write-span.ts';
import { warningLog } from './warning-header.ts';

export interface ApiClientDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** See `createRequestMetrics`. */
  readonly metrics?: RequestMetrics | undefined;
  /** Host and port of the server, for the spans of writes. Default: they name none. */
  readonly host?: string | undefined;
}

export interface ApiClientOptions extends RateLimit {
  /** See `userAgent`; sent with every request, watches included. */
  readonly userAgent: string;
  /** Limit of one object; default 16 MiB. */
  readonly maxObjectBytes?: number;
  /** Limit of a list that is read in one piece; default 256 MiB. */
  readonly maxListBytes?: number;
}

/** The API server gives up after 60 s itself. */
const unaryTimeoutMs = 70_000;
const listTimeoutMs = 120_000;
/** A list that is read while it arrives may take as long as it needs while it goes on: a slow link, a tight CPU limit. Watches: the head. */
const streamedListSilenceMs = listTimeoutMs;
const streamedListTimeoutMs = 30 * 60_000;

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** A client with a rate limiter of its own. Several of them may share one transport. */
export function createApiClient(deps: ApiClientDeps, options: ApiClientOptions): ApiClient {
  const { clock, logger } = deps;
  const { maxObjectBytes = 16 * 2 ** 20, maxListBytes = 256 * 2 ** 20 } = options;
  const sendDeps = {
    clock,
    logger,
    limiter: createRequestLimiter(clock, options),
    logWait: throttleLog(clock, logger),
    metrics: deps.metrics,
  };
  const startWriteSpan = writeSpans(deps.host);
  const { unary, stream } = attempts(deps, warningLog(logger));
  const reading = (expected: Expected): Attempt<unknown> =>
    unary((request, response) => readValue(request, response, expected));
  const object = reading({ maxBytes: maxObjectBytes });
  const wholeList = reading({ maxBytes: maxListBytes });
  const anything = reading({ maxBytes: maxObjectBytes, content: 'jsonOrText' });

  // One header object per kind of request, shared by all requests of that kind. Compression costs the server more than the
  // network gains inside a cluster, and compressed watches have broken clients, so it is declined.
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': options.userAgent };
  const bodyHeaders = new Map<string, TransportRequest['headers']>();
  const headersFor = (contentType: string): TransportRequest['headers'] => {
    let found = bodyHeaders.get(contentType);
    if (found === undefined) bodyHeaders.set(contentType, (found = { ...headers, 'content-type': contentType }));
    return found;
  };

  const callOf = (request: Call['request'], call: CallOptions = {}): Call => ({
    request,
    use: request.method === 'GET' ? 'read' : 'write',
    priority: call.priority ?? 'normal',
    timeoutMs: call.timeoutMs ?? unaryTimeoutMs,
    signal: call.signal,
    maySend: call.maySend,
  });
  const write = (target: TracedWrite, path: string, content: Content): Promise<unknown> => {
    const { value, type = 'application/json', call } = content;
    const { method } = target;
    const request =
      value === undefined
        ? { method, path, headers }
        : { method, path, headers: headersFor(type), body: Buffer.from(stringifyJson(value)) };
    const span = call?.span && startWriteSpan(call.span, target);
    if (span === undefined) return send(sendDeps, callOf(request, call), object);
    return ended(span, send(sendDeps, { ...callOf(request, call), span }, object));
  };

  return {
    get: async (resource, ref, call) => {
      const request = { method: 'GET', path: objectPath(resource, ref), headers } as const;
      return toObject(resource, await send(sendDeps, callOf(request, call), object));
    },

    list: async (resource, query = {}, { keep, ...call } = {}) => {
      const path = withQuery(collectionPath(resource, query.namespace), listQuery(query));
      const page = callOf({ method: 'GET', path, headers }, { timeoutMs: listTimeoutMs, ...call });
      if (keep === undefined) return toListPage(resource, await send(sendDeps, page, wholeList));
      return send(
        sendDeps,
        page,
        unary((request, response) => readKeptPage(resource, keep, { request, response })),
      );
    },

    create: async (resource, created, call) => {
      const namespace = created.metadata?.namespace;
      requireNamespace(resource, namespace);
      const path = withQuery(collectionPath(resource, namespace), writeQuery(call));
      return toObject(
        resource,
        await write({ method: 'POST', resource }, path, { value: withTypeMeta(resource, created), call }),
      );
    },

    update: async (resource, changed, call) => {
      if ((changed.metadata?.resourceVersion ?? '') === '') {
        throw new Error(`an update of a ${resource.kind} needs the resourceVersion that it was computed from`);
      }
      const path = writePath(resource, refOf(changed), call);
      const target = { method: 'PUT', resource, subresource: call?.subresource } as const;
      return toObject(resource, await write(target, path, { value: withTypeMeta(resource, changed), call }));
    },

    patch: async ({ resource, ref }, patch, call) => {
      const path = withQuery(objectPath(resource, ref, call?.subresource), {
        ...writeQuery(call),
        ...(patch.type === 'apply' && { fieldManager: patch.fieldManager, force: patch.force === true || undefined }),
      });
      const value = patch.type === 'json' ? patch.operations : patch.body;
      const target = { method: 'PATCH', resource, subresource: call?.subresource } as const;
      return toObject(resource, await write(target, path, { value, type: patchTypes[patch.type], call }));
    },

    delete: async (resource, ref, call) => {
      const path = objectPath(resource, ref);
      const answer = await write({ method: 'DELETE', resource }, path, { value: deleteBody(call), call });
      if (answer === undefined || isStatus(answer)) return undefined;
      const left = toObject(resource, answer);
      return isKept(left) ? left : undefined;
    },

    raw: (path, call) => send(sendDeps, callOf({ method: 'GET', path, headers }, call), anything),

    stream: ({ purpose, path, accept }, signal) => {
      const request = {
        method: 'GET',
        path,
        headers: accept === undefined ? headers : { ...headers, accept },
      } as const;
      const watch = purpose === 'watch';
      const call: Call = {
        request,
        use: watch ? 'watch' : 'read',
        priority: 'normal',
        timeoutMs: watch ? Infinity : streamedListTimeoutMs,
        silenceMs: streamedListSilenceMs,
        signal,
      };
      return send(sendDeps, call, stream);
    },
  };
}

interface Content {
  readonly value: unknown;
  readonly type?: string;
  readonly call: CallOptions | undefined;
}

function toObject<T extends KubeObject>(resource: Resource<T>, value: unknown): T {
  if (typeof value !== 'object' || value === null || isStatus(value)) {
    throw new ApiError({ status: 200, message: `the server answered without the ${resource.kind}`, body: '' });
  }
  return withTypeMeta(resource, value as T);
}

function refOf(object: KubeObject): ObjectRef {
  return { namespace: object.metadata?.namespace, name: object.metadata?.name ?? '' };
}

function writePath(resource: Resource, ref: ObjectRef, call: WriteOptions = {}): string {
  return withQuery(objectPath(resource, ref, call.subresource), writeQuery(call));
}

function writeQuery({ dryRun, fieldValidation }: WriteOptions = {}): Readonly<Record<string, string | undefined>> {
  return { dryRun, fieldValidation };
}

function deleteBody(options: DeleteOptions = {}): unknown {
  const { preconditions, propagationPolicy, gracePeriodSeconds } = options;
  if (preconditions === undefined && propagationPolicy === undefined && gracePeriodSeconds === undefined)
    return undefined;
  return { kind: 'DeleteOptions', apiVersion: 'v1', preconditions, propagationPolicy, gracePeriodSeconds };
}
