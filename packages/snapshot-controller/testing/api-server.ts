// SPDX-License-Identifier: Apache-2.0
/** An API server with a client, and without the controller: for single writes. */
import { type ApiClient, createApiClient, silentLogger } from '@csi-sidecars/runtime';
import { createFakeApiServer, type FakeApiServer, FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';

export interface ApiServerSetting {
  readonly server: FakeApiServer;
  readonly ports: {
    readonly client: ApiClient;
    readonly clock: FakeClock;
    readonly random: ReturnType<typeof seededRandom>;
  };
  /** `patch volumesnapshots 409`, `get volumesnapshots 200` */
  readonly requests: () => readonly string[];
  /** Runs it to its end in virtual time. */
  readonly end: <R>(work: Promise<R>) => Promise<R>;
}

export function anApiServer(): ApiServerSetting {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server = createFakeApiServer({ clock, random });
  server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  return {
    server,
    ports: { client, clock, random },
    requests: () =>
      server.requests.map(
        ({ verb, resource, subresource, code }) =>
          `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`} ${code}`,
      ),
    end: async (work) => {
      // A test may expect it to reject.
      work.catch(() => undefined);
      for (let turn = 0; turn < 6; turn += 1) await clock.advance(20);
      return await work;
    },
  };
}

export const noCache = { remember: () => undefined, doubt: () => undefined };
