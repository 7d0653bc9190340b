// Rows with parameters, from C++: c++ -std=c++17 rows.cpp $(pkg-config --cflags --libs rayql)
#include <rayql/rayql.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {
template <auto free_function> struct Freed {
	template <typename T> void operator()(T *handle) const { free_function(handle); }
};
using Database = std::unique_ptr<rayql_database, Freed<rayql_close>>;
using Connection = std::unique_ptr<rayql_connection, Freed<rayql_disconnect>>;
using Statement = std::unique_ptr<rayql_statement, Freed<rayql_statement_free>>;
using Result = std::unique_ptr<rayql_result, Freed<rayql_result_free>>;
using Batch = std::unique_ptr<rayql_batch, Freed<rayql_batch_free>>;

void check(rayql_status status, rayql_error *err)
{
	if (status == RAYQL_OK)
		return;
	std::string message = rayql_error_message(err);
	rayql_error_free(err);
	throw std::runtime_error(message);
}
} // namespace

int main()
try {
	rayql_error *err = nullptr;
	rayql_database *db = nullptr;
	check(rayql_open(nullptr, nullptr, &db, &err), err);
	Database database(db);
	rayql_connection *con = nullptr;
	check(rayql_connect(db, &con, &err), err);
	Connection connection(con);
	rayql_statement *stmt = nullptr;
	check(rayql_prepare(con, "SELECT i, i * 2 FROM range(10) r(i) WHERE i >= ? ORDER BY i", &stmt, &err), err);
	Statement statement(stmt);
	rayql_bind_int64(stmt, 1, 8);
	rayql_result *res = nullptr;
	check(rayql_execute(stmt, &res, &err), err);
	Result result(res);
	for (;;) {
		rayql_batch *b = nullptr;
		check(rayql_fetch(res, &b, &err), err);
		if (!b)
			return 0;
		Batch batch(b);
		auto first = static_cast<const int64_t *>(rayql_batch_data(b, 0));
		auto second = static_cast<const int64_t *>(rayql_batch_data(b, 1));
		for (uint64_t row = 0; row < rayql_batch_rows(b); row++)
			std::cout << first[row] << ' ' << second[row] << '\n';
	}
} catch (const std::exception &error) {
	std::cerr << error.what() << '\n';
	return 1;
}
