// SPDX-License-Identifier: Apache-2.0
import type { CsiConnection, RequestOf, ResponseOf } from '@csi-sidecars/csi';
import { settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { provisioned } from '../../testing/audit.ts';
import { add, ago, clusterOf, csiDriver, driver, requestsOf, volumeOf } from '../../testing/cluster.ts';
import { runAudit } from '../index.ts';

const volumes = 50_000;
const handleOf = (index: number): string => `0123456789abcdef-vol-${index}`;
type Listing = '/csi.v1.Controller/ListVolumes';

/** A driver with as many volumes, which has no snapshots. */
function aDriver(pages: string[]): CsiConnection {
  const listed = ({ starting_token = '', max_entries = 0 }: RequestOf<Listing>): ResponseOf<Listing> => {
    pages.push(starting_token);
    const from = Number(starting_token);
    const entries = Array.from({ length: Math.min(max_entries, volumes - from) }, (_, at) => ({
      volume: {
        volume_id: handleOf(from + at),
        capacity_bytes: String(1024 ** 3),
        volume_context: {},
        content_source: null,
        accessible_topology: [],
      },
      status: null,
    }));
    const next = from + entries.length;
    return { entries, next_token: next === volumes ? '' : String(next) };
  };
  const answers: Readonly<Record<string, (request: never) => object>> = {
    GetPluginInfo: () => ({ name: driver }),
    GetPluginCapabilities: () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
    ControllerGetCapabilities: () => ({ capabilities: [{ rpc: { type: 'LIST_VOLUMES' } }] }),
    ListVolumes: listed,
  };
  const call = async (method: string, request: object): Promise<object> =>
    answers[method.split('/').at(-1) ?? '']?.(request as never) ?? {};
  const channel = { call: call as CsiConnection['call'], lost: new AbortController().signal, close: () => undefined };
  return { ...channel, loggedBy: () => channel };
}

it('[explain#123] given 50,000 volumes, then the driver is listed once, and each kind is read in at most 100 pages', async () => {
  const host = clusterOf([csiDriver()]);
  const metadata = { annotations: provisioned, creationTimestamp: ago(host, 3_600) };
  for (let index = 0; index < volumes; index += 1) {
    add(host, volumeOf(`${index}`, { metadata, spec: { csi: { driver, volumeHandle: handleOf(index) } } }));
  }
  const pages: string[] = [];
  const args = [`--driver=${driver}`, '--driver-address=/csi/csi.sock', '--qps=-1', '-o=json'];
  const connectCsi = async (): Promise<CsiConnection> => aDriver(pages);
  let code: number | undefined;
  void runAudit({ host: { ...host, args, connectCsi }, lifecycle: host.lifecycle }).then((value) => (code = value));
  for (;;) {
    await settle();
    if (code !== undefined) break;
    await host.clock.advance(10);
  }
  expect([code, JSON.parse(host.printed())]).toMatchObject([0, { entries: { volumes }, findings: [] }]);
  expect(pages.length).toBe(100);
  const ofVolumes = requestsOf(host).filter((request) => request.includes('/persistentvolumes?'));
  expect(ofVolumes.length).toBe(100);
});
