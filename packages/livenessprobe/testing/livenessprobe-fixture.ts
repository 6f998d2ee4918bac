// SPDX-License-Identifier: Apache-2.0
/** A livenessprobe with a driver on a real socket, called over HTTP, in virtual time. */
import { type CsiServer, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { runLivenessprobeProgram } from '../src/program.ts';

export const driverName = 'a.example.com';
export const probe = '/csi.v1.Identity/Probe';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type: string | null;
}

export interface RunningLivenessprobe extends AsyncDisposable {
  readonly host: FakeHost;
  readonly driver: CsiServer;
  /** The URL of --http-endpoint, unless the arguments set another address. */
  readonly port: number;
  readonly code: Promise<number>;
  /** Resolves when it serves. */
  readonly serving: () => Promise<void>;
  readonly ask: (path?: string, init?: RequestInit) => Promise<Answer>;
}

export interface LivenessprobeOptions {
  readonly driver?: Handlers;
  /** Arguments instead of `--http-endpoint` on a free port. */
  readonly endpoint?: (port: number) => readonly string[];
  readonly args?: readonly string[];
}

export function namedDriver(more: Handlers = {}): Handlers {
  return { '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }), [probe]: () => ({}), ...more };
}

export async function startLivenessprobe(options: LivenessprobeOptions = {}): Promise<RunningLivenessprobe> {
  const driver = await serveCsi(options.driver ?? namedDriver());
  const port = await freePort();
  const endpoint = options.endpoint?.(port) ?? [`--http-endpoint=127.0.0.1:${port}`];
  const host = fakeHost({ args: [`--csi-address=${driver.path}`, ...endpoint, ...(options.args ?? [])] });
  const code = runLivenessprobeProgram({ host, lifecycle: host.lifecycle });
  return {
    host,
    driver,
    port,
    code,
    serving: async () => {
      await until(() => host.logged().includes('"ServeMux listening"'));
      await until(() => answers(port));
    },
    ask: (path = '/healthz', init = {}) => ask(port, path, init),
    [Symbol.asyncDispose]: async () => {
      host.stop();
      await code.catch(() => undefined);
      await driver[Symbol.asyncDispose]();
    },
  };
}

export async function ask(port: number, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  return { status: response.status, body: await response.text(), type: response.headers.get('content-type') };
}

/** Whether the port accepts connections. */
export async function answers(port: number): Promise<boolean> {
  return await ask(port, '/').then(
    () => true,
    () => false,
  );
}
