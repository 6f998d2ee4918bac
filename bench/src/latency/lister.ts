// SPDX-License-Identifier: Apache-2.0
/** A driver with `node lister.ts COUNT` volumes, which sends the path of its socket and serves until it is ended. */
import { serveCsi } from '@csi-sidecars/csi/testing';
import { handleOf } from './audited.ts';

const count = Number(process.argv[2]);
const { path } = await serveCsi({
  '/csi.v1.Controller/ListVolumes': ({ max_entries, starting_token }) => {
    const from = Number(starting_token || 0);
    const next = Math.min(from + max_entries, count);
    const entries = Array.from({ length: next - from }, (_, at) => ({
      volume: { volume_id: handleOf(from + at), capacity_bytes: String(1024 ** 3) },
    }));
    return { entries, next_token: next < count ? String(next) : '' };
  },
});
process.send!(path);
