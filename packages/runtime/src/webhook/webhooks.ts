// SPDX-License-Identifier: Apache-2.0
/** The webhooks of a program, with where they listen and which certificate they have: a value that `runController` serves, and from which manifests are made. */
import { join } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import { parseListenAddress, toListenOptions } from '../diagnostics/listen-address.ts';
import type { Logger } from '../log/logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { readPair, watchPair } from '../tls/certificates.ts';
import { createReviewCounter } from './review-metrics.ts';
import { defaultLimits, startWebhookServer, type WebhookLimits } from './server.ts';
import { type AdmissionDeclaration, readyPath, type Webhook } from './webhook.ts';

export interface WebhooksSpec {
  readonly webhooks: readonly Webhook[];
  /** Default `:9443`. */
  readonly listen?: string | undefined;
  /**
   * A folder with `tls.crt` and `tls.key`, as a Secret has them. They are read again when they change. Default: the folder of controller-runtime,
   * `/tmp/k8s-webhook-server/serving-certs`.
   */
  readonly certificates?: string | undefined;
  readonly limits?: Partial<WebhookLimits>;
}

export interface ServedWebhooks extends AsyncDisposable {
  readonly port: number;
}

export interface Webhooks {
  /** Those that a configuration declares, and not a CustomResourceDefinition. */
  readonly admission: readonly AdmissionDeclaration[];
  readonly port: number;
  readonly certificates: string;
  /**
   * `runController` does it. Rejects if the address cannot be listened on, and if the certificate cannot be read. Disposing waits for the reviews that
   * run.
   */
  readonly serve: (deps: WebhooksDeps) => Promise<ServedWebhooks>;
}

export interface WebhooksDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gets the families of controller-runtime about webhooks, once. Default: reviews are not counted. */
  readonly metrics?: Metrics;
}

/** Throws for an address that is none, and for two webhooks of one path. */
export function defineWebhooks({ webhooks, listen = ':9443', ...spec }: WebhooksSpec): Webhooks {
  const { certificates = '/tmp/k8s-webhook-server/serving-certs' } = spec;
  const address = parseListenAddress(listen);
  const paths = [readyPath, ...webhooks.map(({ path }) => path)];
  const twice = paths.find((path, at) => paths.indexOf(path) !== at);
  if (twice !== undefined) throw new Error(`there are two of the path ${twice}`);
  return {
    admission: webhooks.flatMap(({ admission }) => admission ?? []),
    port: address.port,
    certificates,
    serve: async ({ clock, logger: log, metrics }) => {
      const files = { certFile: join(certificates, 'tls.crt'), keyFile: join(certificates, 'tls.key') };
      const pair = await readPair(files).catch((cause: Error) => {
        const { certFile, keyFile } = files;
        const what = `the certificate of the webhooks cannot be used (${certFile}, ${keyFile})`;
        throw new Error(`${what}: ${cause.message}`, { cause });
      });
      const limits = { ...defaultLimits, ...spec.limits };
      const options = { webhooks, listen: await toListenOptions(address), pair, limits };
      const served = webhooks.map(({ path }) => path);
      const countReview = metrics && createReviewCounter(clock, metrics, served);
      const server = await startWebhookServer({ clock, log, countReview }, options);
      log.info(0, 'Serving webhooks', { port: server.port, paths: served });
      const stop = new AbortController();
      const watched = watchPair({ clock, log }, { ...files, current: pair }, { use: server.use, signal: stop.signal });
      return {
        port: server.port,
        async [Symbol.asyncDispose]() {
          stop.abort();
          await watched;
          await server[Symbol.asyncDispose]();
        },
      };
    },
  };
}
