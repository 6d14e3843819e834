// SPDX-License-Identifier: GPL-2.0
/* What "entitylock doctor" has found out of the kernel, and of the module's file. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "health.h"
#include "json.h"
#include "tracefs.h"

/* The kernels for which the module is built and tested. */
#define OLDEST_MAJOR	6
#define OLDEST_MINOR	1
#define NEWEST_MAJOR	7
#define NEWEST_MINOR	2

#define MODULE		"/sys/module/entitylock"
#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static bool in_json, all_well = true;

void health_begin(bool json)
{
	in_json = json;
	if (!json)
		return;
	json_begin();
	json_open("checks", '[');
}

bool health_end(void)
{
	if (in_json) {
		json_new_line();
		json_close(']');
		json_bool("works", all_well);
		json_close('}');
	} else {
		puts(all_well ? "locking works" : "locking does not work");
	}
	return all_well;
}

void health_tell(enum health health, const char *check, const char *advice, const char *format,
		 ...)
{
	static const char *const words[] = { "fine", "note", "wrong" };
	va_list args;
	char *found;
	int len;

	va_start(args, format);
	len = vasprintf(&found, format, args);
	va_end(args);
	need(len < 0 ? NULL : found);
	if (health == WRONG)
		all_well = false;
	if (in_json) {
		json_new_line();
		json_open(NULL, '{');
		json_string("check", check);
		json_string("health", words[health]);
		json_string("found", found);
		json_string_or_null("advice", advice);
		json_close('}');
	} else {
		printf("%-6s %-12s %s\n", words[health], check, found);
		if (advice)
			printf("%-6s %-12s -> %s\n", "", "", advice);
	}
	free(found);
}

/* The beginning of a file, as text without its newline; whether there is one. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	text[0] = '\0';
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return len >= 0;
}

void check_kernel(void)
{
	unsigned int major, minor;
	struct utsname uts;

	uname(&uts);
	if (sscanf(uts.release, "%u.%u", &major, &minor) != 2)
		health_tell(NOTE, "kernel", NULL, "%s: not known", uts.release);
	else if (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR))
		health_tell(WRONG, "kernel", "boot Linux 6.1 or a later one",
			    "%s: too old for the module", uts.release);
	else if (major > NEWEST_MAJOR || (major == NEWEST_MAJOR && minor > NEWEST_MINOR))
		health_tell(NOTE, "kernel", "run the self-tests there: make test",
			    "%s: newer than what the module was tested with (%d.%d)", uts.release,
			    NEWEST_MAJOR, NEWEST_MINOR);
	else
		health_tell(FINE, "kernel", NULL, "%s", uts.release);
}

bool module_is_loaded(void)
{
	return !access(MODULE, F_OK);
}

void check_module(void)
{
	char version[32], srcversion[64], taint[16];

	if (!module_is_loaded()) {
		health_tell(WRONG, "module", "load it: modprobe entitylock", "it is not loaded");
		return;
	}
	read_text(MODULE "/version", version, sizeof(version));
	read_text(MODULE "/srcversion", srcversion, sizeof(srcversion));
	read_text(MODULE "/taint", taint, sizeof(taint));
	health_tell(FINE, "module", NULL, "version %s%s%s%s is loaded",
		    *version ? version : "unknown", *srcversion ? ", source " : "", srcversion,
		    strchr(taint, 'E') ? ", its signature not verified," : "");
	if (strcmp(version, TOOL_VERSION))
		health_tell(NOTE, "command", "install a command and a module of one release",
			    "this one is of version " TOOL_VERSION);
}

/* Whether the kernel refuses modules that nobody has signed. */
static bool signature_needed(void)
{
	char enforce[8], lockdown[64];

	read_text("/sys/module/module/parameters/sig_enforce", enforce, sizeof(enforce));
	read_text("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	return enforce[0] == 'Y' || (*lockdown && !strstr(lockdown, "[none]"));
}

void check_secure_boot(void)
{
	char variable[8] = "", lockdown[64];
	bool on = read_text(SECURE_BOOT, variable, sizeof(variable)) && variable[4] == 1;

	read_text("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	health_tell(FINE, "secure-boot", NULL, "Secure Boot is %s, lockdown: %s%s",
		    on ? "on" : "off", *lockdown ? lockdown : "unknown",
		    signature_needed() ? ", modules must be signed" : "");
}

/* The module's file among those that modprobe knows. */
static bool find_module_file(char *path, size_t size)
{
	char line[4096], *name, *colon;
	struct utsname uts;
	bool found = false;
	FILE *dep;

	uname(&uts);
	snprintf(line, sizeof(line), "/lib/modules/%s/modules.dep", uts.release);
	dep = fopen(line, "re");
	if (!dep)
		return false;
	while (!found && fgets(line, sizeof(line), dep)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		name = strrchr(line, '/');
		name = name ? name + 1 : line;
		found = !strncmp(name, "entitylock.ko", 13);
		if (found)
			snprintf(path, size, "/lib/modules/%s/%s", uts.release, line);
	}
	fclose(dep);
	return found;
}

/* 1: there is a signature at the file's end, 0: there is none, -1: it cannot be seen. */
static int is_signed(const char *path)
{
	static const char mark[] = "~Module signature appended~\n";
	char end[sizeof(mark)] = "";
	int fd, seen = -1;

	if (strcmp(path + strlen(path) - 3, ".ko"))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (lseek(fd, -(off_t)(sizeof(mark) - 1), SEEK_END) >= 0 &&
	    read(fd, end, sizeof(mark) - 1) == (ssize_t)sizeof(mark) - 1)
		seen = !strcmp(end, mark);
	close(fd);
	return seen;
}

void check_module_file(void)
{
	char path[4352];
	int seen;

	if (!find_module_file(path, sizeof(path))) {
		health_tell(module_is_loaded() ? NOTE : WRONG, "module-file",
			    "install it for this kernel, see README, and run depmod -a",
			    "modprobe has none for this kernel");
		return;
	}
	seen = is_signed(path);
	if (seen < 0)
		health_tell(NOTE, "module-file",
			    "see whether it is signed: modinfo -F signer entitylock", "%s", path);
	else if (!seen && signature_needed())
		health_tell(module_is_loaded() ? NOTE : WRONG, "module-file",
			    "sign it with a key that is enrolled: mokutil --import, or turn Secure Boot off",
			    "%s is not signed, and the kernel takes none that is not", path);
	else
		health_tell(FINE, "module-file", NULL, "%s, %ssigned", path, seen ? "" : "not ");
}

void check_tracing(void)
{
	const char *root = tracefs_root();
	char path[256];

	if (!root) {
		health_tell(NOTE, "tracing", TRACEFS_ADVICE,
			    "tracefs is not mounted, so 'entitylock trace' does not work");
		return;
	}
	snprintf(path, sizeof(path), "%s/events/entitylock", root);
	if (!access(path, F_OK))
		health_tell(FINE, "tracing", NULL, "%s", path);
	else if (errno == EACCES)
		health_tell(NOTE, "tracing", "trace as root", "%s may not be read", root);
	else
		health_tell(NOTE, "tracing", "load a module that has tracepoints",
			    "there are no events of the module in %s", root);
}
