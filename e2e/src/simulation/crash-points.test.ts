// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { flows } from './flows.ts';

await describePoints(flows, 'e2e/src/simulation/crash-points.test.ts');
