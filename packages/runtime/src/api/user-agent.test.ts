// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { userAgent } from './user-agent.ts';

it('given a build, then the user agent is the one client-go would send', () => {
  const machine = { platform: 'linux', arch: 'x64' };
  expect(userAgent({ binary: '/usr/bin/csi-attacher', version: 'v4.12.0-39', commit: '0123456789ab' }, machine)).toBe(
    'csi-attacher/v4.12.0 (linux/amd64) kubernetes/0123456',
  );
  expect(userAgent({ binary: 'csi-resizer', version: '', commit: '' }, { platform: 'linux', arch: 'arm64' })).toBe(
    'csi-resizer/unknown (linux/arm64) kubernetes/unknown',
  );
  expect(userAgent({ binary: 'x', version: 'v1', commit: '' }, { platform: 'win32', arch: 'ia32' })).toBe(
    'x/v1 (windows/386) kubernetes/unknown',
  );
});
