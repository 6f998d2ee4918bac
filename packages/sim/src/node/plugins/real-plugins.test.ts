// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { registrationService } from '@csi-sidecars/csi/testing';
import { silentLogger, systemClock } from '@csi-sidecars/runtime';
import { realPlugins } from './real-plugins.ts';

describe('plugins on a machine', () => {
  it('given a registration socket at any depth, then it is found, called and notified over gRPC', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plugins-'));
    mkdirSync(join(folder, 'deep'));
    mkdirSync(join(folder, '.hidden'));
    const path = join(folder, 'deep', 'csi-reg.sock');
    const notifications: unknown[] = [];
    const server = new Server();
    server.addService(registrationService(), {
      GetInfo: (_call: unknown, answer: (error: null, info: object) => void) =>
        answer(null, { type: 'CSIPlugin', name: 'd', endpoint: '/x', supported_versions: ['1.0.0'] }),
      NotifyRegistrationStatus: (call: { request: unknown }, answer: (error: null, nothing: object) => void) => {
        notifications.push(call.request);
        answer(null, {});
      },
    });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    try {
      const world = realPlugins({ folder, clock: systemClock(), logger: silentLogger });
      expect([...(await world.sockets()).keys()]).toEqual([path]);
      const registrar = world.dial(path);
      expect(await registrar.getInfo()).toEqual({
        type: 'CSIPlugin',
        name: 'd',
        endpoint: '/x',
        supported_versions: ['1.0.0'],
      });
      await registrar.notify({ registered: false, error: 'no' });
      registrar.close();
      expect(notifications).toEqual([{ plugin_registered: false, error: 'no' }]);
    } finally {
      server.forceShutdown();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
