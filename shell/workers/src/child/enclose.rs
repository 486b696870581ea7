//! Enclosure of a parse worker before it has threads: it gives up the file system, the network and the other processes
//! of the machine, as far as the system lets it. The system call filter of [`super::confine`] refuses all of it once
//! more and alone is enough; this holds where a filter has a gap. Nothing here may fail: what a system does not know,
//! or does not permit, is left out and told.

use std::io;

/// Of the kernel's `landlock.h`, which the C library's crate does not have: the question for the version.
const ASK_VERSION: libc::c_long = 1;
/// Rights on files by the version that brought them: the first thirteen, moving between folders, cutting, devices.
const FILE_RIGHTS: [(libc::c_long, u64); 4] =
    [(1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15)];
/// Binding and connecting of TCP.
const NET_RIGHTS: [(libc::c_long, u64); 1] = [(4, 0b11)];
/// Abstract sockets and signals that leave the process.
const SCOPES: [(libc::c_long, u64); 1] = [(6, 0b11)];

/// Networks, semaphores and names of the host.
const NAMESPACES: libc::c_int = libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// `struct landlock_ruleset_attr`. Longer than an old kernel's is possible while the rest is zero.
#[repr(C)]
struct Ruleset {
    files: u64,
    net: u64,
    scopes: u64,
}

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// The version of capability sets of 64 bits.
const CAPABILITIES_OF_64_BITS: u32 = 0x2008_0522;

/// What holds besides the system call filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Enclosed {
    /// The version of landlock, by which no file can be opened and nothing connected.
    pub landlock: Option<u32>,
    /// Whether there is a network of its own, in which there is nothing, and semaphores of its own.
    pub namespaces: bool,
    /// Whether it is a user of its own, too.
    pub user: bool,
    /// Whether it has no privileges left.
    pub unprivileged: bool,
}

impl Enclosed {
    /// In words, for the log.
    #[must_use]
    pub fn words(&self) -> String {
        let landlock = match self.landlock {
            Some(version) => format!("landlock {version}"),
            None => "no landlock".to_owned(),
        };
        let namespaces = match (self.namespaces, self.user) {
            (true, true) => "own user, network and IPC namespaces",
            (true, false) => "own network and IPC namespaces",
            (false, _) => "no own namespaces",
        };
        let privileges = if self.unprivileged { "no capabilities" } else { "its capabilities" };
        format!("{landlock}, {namespaces}, {privileges}")
    }
}

/// Encloses this process. It must have one thread yet: the threads that it starts later are enclosed with it, those
/// that it has are not.
#[must_use]
pub fn enclose() -> Enclosed {
    let user = survives(|| unshare(libc::CLONE_NEWUSER | NAMESPACES))
        && unshare(libc::CLONE_NEWUSER | NAMESPACES);
    // A process with the privileges needs no user of its own for it.
    let namespaces = user || (survives(|| unshare(NAMESPACES)) && unshare(NAMESPACES));
    let landlock = if survives(|| landlock().is_some()) { landlock() } else { None };
    // The last, because the others may need them.
    let unprivileged = drop_capabilities().is_ok();
    Enclosed { landlock, namespaces, user, unprivileged }
}

/// Whether `act` succeeds in a forked child of this process. [`enclose`] asks before it acts itself, because the system call
/// filter of a container can kill the process that makes a forbidden call instead of refusing it.
fn survives(act: fn() -> bool) -> bool {
    // SAFETY: this process has one thread, so that the child may go on as if nothing had happened; it calls the system
    // and ends, without running anything that waits for the end of a program.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let status = libc::c_int::from(!act());
        // SAFETY: it ends the child.
        unsafe { libc::_exit(status) };
    }
    if child < 0 {
        return false;
    }
    let mut status = 0;
    loop {
        // SAFETY: `status` is a place for the status.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if ended == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
}

fn unshare(flags: libc::c_int) -> bool {
    // SAFETY: it takes a number and touches no memory.
    unsafe { libc::unshare(flags) == 0 }
}

/// Takes every right that the kernel's landlock knows, and says its version.
fn landlock() -> Option<u32> {
    let nothing = std::ptr::null::<Ruleset>();
    // SAFETY: the question for the version reads no memory.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, ASK_VERSION) };
    if version < 1 {
        return None;
    }
    let of = |rights: &[(libc::c_long, u64)]| {
        let known = rights.iter().filter(|(since, _)| *since <= version);
        known.fold(0, |all, (_, rights)| all | rights)
    };
    let rules = Ruleset { files: of(&FILE_RIGHTS), net: of(&NET_RIGHTS), scopes: of(&SCOPES) };
    let size = std::mem::size_of::<Ruleset>();
    // SAFETY: the kernel reads `size` bytes at `rules`, which are there.
    let ruleset = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size, 0_usize)
    };
    let ruleset = libc::c_int::try_from(ruleset).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: these take numbers. Without new privileges every process may restrict itself.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0_usize) == 0
    };
    // SAFETY: `ruleset` was opened by this function, is open here, and no other value owns it.
    unsafe { libc::close(ruleset) };
    if done { u32::try_from(version).ok() } else { None }
}

/// Gives up every capability, those in a user namespace of its own included.
fn drop_capabilities() -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITIES_OF_64_BITS, pid: 0 };
    // Effective, permitted and inheritable ones, in two halves.
    let none = [[0_u32; 3]; 2];
    // SAFETY: the kernel reads the header and, of this version, two sets, which are there.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_said_in_words() {
        let all = Enclosed { landlock: Some(7), namespaces: true, user: true, unprivileged: true };
        assert_eq!(
            all.words(),
            "landlock 7, own user, network and IPC namespaces, no capabilities"
        );
        let rootly = Enclosed { user: false, ..all };
        assert_eq!(rootly.words(), "landlock 7, own network and IPC namespaces, no capabilities");
        let none = Enclosed::default();
        assert_eq!(none.words(), "no landlock, no own namespaces, its capabilities");
    }
}
