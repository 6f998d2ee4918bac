// SPDX-License-Identifier: Apache-2.0
/** A sidecar's whole program over a real driver socket, with an API server in memory and virtual time. */
import { type CsiServer, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import type { KubeObject } from '@csi-sidecars/runtime';
import { type ResourceType, settle } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps } from '../src/process/run-controller-program.ts';
import { type FakeHost, type FakeHostOptions, fakeHost } from './fake-host.ts';

export interface DrivenOptions extends FakeHostOptions {
  readonly handlers: Handlers;
  /** Kinds that the API server serves beside the built-in ones. */
  readonly types?: readonly ResourceType[];
  /** The objects of the API server. */
  readonly seed?: readonly KubeObject[];
}

/** Disposing of it stops the program in order, and then the driver. */
export interface DrivenProgram extends AsyncDisposable {
  readonly host: FakeHost;
  readonly driver: CsiServer;
  readonly code: Promise<number>;
  /** The calls to the driver, by their short names, in order. */
  readonly calls: () => readonly string[];
}

export async function runOverDriver(
  program: (deps: ProgramDeps) => Promise<number>,
  { handlers, types = [], seed = [], args = [], ...options }: DrivenOptions,
): Promise<DrivenProgram> {
  const calls: string[] = [];
  const driver = await serveCsi(recorded(handlers, calls));
  const host = fakeHost({ ...options, args: [`--csi-address=${driver.path}`, ...args] });
  host.server.addTypes(...types);
  for (const object of seed) host.server.seed(object);
  const code = program({ host, lifecycle: host.lifecycle });
  return {
    host,
    driver,
    code,
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      host.stop();
      await Promise.race([code.catch(() => 0), settle()]);
      await driver[Symbol.asyncDispose]();
    },
  };
}

type UntypedHandler = (request: unknown, call: unknown) => unknown;

function recorded(handlers: Handlers, calls: string[]): Handlers {
  const entries = Object.entries(handlers) as unknown as readonly [string, UntypedHandler][];
  const all = entries.map(([method, handler]): readonly [string, UntypedHandler] => [
    method,
    (request, call) => {
      calls.push(method.split('/').at(-1) ?? '');
      return handler(request, call);
    },
  ]);
  return Object.fromEntries(all);
}
