// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

use std::collections::HashMap;

#[inline(always)]
fn mix(value: u32, by: u32) -> u32 {
    (0..7).fold(value, |v, i| (v ^ (by + i)).wrapping_mul(31))
}

struct Worker {
    lists: HashMap<String, Vec<u32>>,
}

impl Worker {
    #[inline(never)]
    fn step(&mut self, n: u32) -> u32 {
        self.lists.entry("x".repeat(n as usize % 17)).or_default().push(mix(n, 1));
        let mut total = 0u32;
        for list in self.lists.values_mut() {
            list.sort_by_key(|item| mix(*item, 3));
            total = list.iter().fold(total, |t, item| t.wrapping_add(mix(*item, n)));
        }
        total
    }
}

fn main() {
    let mut worker = Worker { lists: HashMap::new() };
    let total = (0..1000).fold(0u32, |t, n| t.wrapping_add(worker.step(n)));
    println!("{}", total);
}
